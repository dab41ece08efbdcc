/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_FRAME_RUST_H
#define RUNNER_CRASH_REPORT_FRAME_RUST_H

#include "base/scan.h"

/* Names of Rust.  Its older mangling looks like C++'s, so most symbolizers print its
 * own escapes and a hash that every build has anew, where rustc's demangler prints
 * neither (rustc's book, "Symbol Mangling"):
 *
 *   core::panicking::panic::h0123456789abcdef
 *   _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h0123...
 *   app::run::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef
 *   _ZN4core9panicking5panic17h0123456789abcdefE          not demangled at all
 *   app[8787f43e282added]::run::{closure#0}                the newer mangling */

/* Takes the hash off the end; false: there is none. */
bool frame_rust_drop_hash(struct slice *io);

/* The hash, and true, when the name holds escapes of the older mangling; then *io is the
 * plain name, in `to` and cut to fit. */
enum { FRAME_RUST_PLAIN_MAX = 1024 };
bool frame_rust_plain(struct slice *io, char to[FRAME_RUST_PLAIN_MAX]);

/* Takes "{{closure}}", "{closure#0}", "{impl#3}" or "{shim:vtable#0}" that *io begins
 * with: *ret is the word in it. */
bool frame_rust_unnamed(struct slice *io, struct slice *ret);

/* Takes "[8787f43e282added]" before "::": which build of a crate it is. */
bool frame_rust_crate(struct slice *io);

#endif
