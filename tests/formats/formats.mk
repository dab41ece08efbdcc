# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make formats-tests` checks what `fuzzcell ci` writes, and the files
# for CI services, against published schemas and with readers of other makes, which are fetched as
# packages.

$B/formats/drive: $B/t/tests/formats/drive.o $B/t/lib.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -pie -o $@ $^ $(LIBS)

# As TAP.
formats-tests: $B/formats/drive
	@node tests/formats/test.mjs $< $B/formats

.PHONY: formats-tests
