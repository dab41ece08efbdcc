# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make publish-tests` notifies a server that stands in for GitHub's
# and fails in every way.  It also checks all requests against GitHub's own description of its
# API, which is fetched as a package.

$B/publish/drive: $B/t/tests/publish/drive.o $B/t/lib.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -pie -o $@ $^ $(LIBS)

# As TAP.
publish-tests: $B/publish/drive
	@node tests/publish/test.mjs $< $B/publish

.PHONY: publish-tests
