# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make web-tests` opens every page of `fuzzcell serve` in a real
# browser, with data of a run in real cells (needs root) and with hostile data.  Screenshots stay in
# $B/web.

WEB_TARGETS := healthy crash leak startcrash

# As TAP.
web-tests: $B/fuzzcell $(WEB_TARGETS:%=$B/targets/%_fuzzer)
	@node tests/web/test.mjs $< $B/targets $B/web

.PHONY: web-tests
