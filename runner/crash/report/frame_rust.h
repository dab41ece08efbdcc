/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_FRAME_RUST_H
#define RUNNER_CRASH_REPORT_FRAME_RUST_H

#include "base/scan.h"

/* Names of Rust.  The older mangling looks like C++'s.  So most symbolizers print its escapes, and
 * a hash that differs in every build.  Rustc's demangler prints neither (rustc's book, "Symbol
 * Mangling"):
 *
 *   core::panicking::panic::h0123456789abcdef
 *   _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h0123...
 *   app::run::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef
 *   _ZN4core9panicking5panic17h0123456789abcdefE          not demangled at all
 *   app[8787f43e282added]::run::{closure#0}                the newer mangling */

/* Removes the hash from the end; false: there is none. */
bool frame_rust_drop_hash(struct slice *io);

/* True if the name holds escapes of the older mangling.  Then *io is the plain name, in `to` and
 * cut to fit. */
enum { FRAME_RUST_PLAIN_MAX = 1024 };
bool frame_rust_plain(struct slice *io, char to[FRAME_RUST_PLAIN_MAX]);

/* Consumes "{{closure}}", "{closure#0}", "{impl#3}" or "{shim:vtable#0}" at the beginning of *io.
 * *ret is the word in it. */
bool frame_rust_unnamed(struct slice *io, struct slice *ret);

/* Consumes "[8787f43e282added]" before "::": it identifies the build of a crate. */
bool frame_rust_crate(struct slice *io);

#endif
