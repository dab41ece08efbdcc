/* SPDX-License-Identifier: Apache-2.0 */
/* membomb_threads_fuzzer without a sanitizer. */
#include "membomb_threads_fuzzer.c"
