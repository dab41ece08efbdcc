# SPDX-License-Identifier: Apache-2.0
# make demo     install what is missing, build, fuzz real targets for two minutes
# make check    install what is missing; the tests that find most mistakes, ten minutes
# make check-all  all tests: with VMs, Docker, a browser
# make [all]    build/fuzzcell        make deps      packages that building needs
# make unit     unit tests            make e2e       end-to-end tests in real cells
# make vm       the same in a VM      make lint      formats, warnings, analysers
# make bench    measurements          make fuzz      fuzz our own parsers, T seconds each
# make image    the Docker image of compose.yaml, with version and revision as labels
# make deb      a Debian package of this commit: build/fuzzcell_VERSION_ARCHITECTURE.deb
# make reports  planted crashes of every sanitizer are parsed correctly
# make publish-tests  notifications against a fake GitHub server that fails in every way
# make web-tests      the dashboard's pages in a real browser
# Variables: CC, B (build directory), SAN=1 (ASan+UBSan), PREFIX, DESTDIR, V=1 (whole commands)
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
FUZZCC  ?= clang
B       ?= build
PREFIX  ?= /usr/local
VERSION := 0.1.0

PACKAGES := libsystemd jansson libseccomp libcgroup libarchive libmd libcurl libcrypto expat libmicrohttpd yaml-0.1

WARN    := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion \
           -Wformat=2 -Wundef -Wvla -Wcast-qual -Wwrite-strings -Wpointer-arith \
           -Wstrict-prototypes -Wmissing-prototypes -Wmissing-declarations \
           -Wold-style-definition -Wredundant-decls -Wnull-dereference \
           -Wimplicit-fallthrough -Wswitch-enum
GCCWARN := -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wformat-signedness \
           -Wjump-misses-init -Wtrampolines
WARN    += $(if $(findstring clang,$(CC)),,$(GCCWARN))
CFLAGS  ?= $(if $(SAN),-O1 -g1,-O2 -g)
HARDEN  := -fstack-protector-strong -fstack-clash-protection -fPIE -fvisibility=hidden
HARDEN  += $(if $(SAN),,-D_FORTIFY_SOURCE=2)
LDHARD  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
CPPFLAGS += -I. -D_GNU_SOURCE -DFUZZCELL_VERSION='"$(VERSION)"' -DINIT_FILE='"$B/init"' $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
LIBS    := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm
MISSING := $(shell pkg-config --exists $(PACKAGES) 2>/dev/null || \
	if command -v pkg-config >/dev/null; then \
		for p in $(PACKAGES); do pkg-config --exists $$p || echo $$p; done; \
	else echo pkg-config; fi) \
	$(shell $(CC) -E -include stdio.h -x c /dev/null >/dev/null 2>&1 || echo '$(CC) with the C library')
MISSING := $(strip $(MISSING))
# Expanded only when something is compiled; the other goals do not need these packages.
NEEDED   = $(if $(MISSING),$(error not installed: $(MISSING). "make deps" installs what is \
	missing on Debian and Ubuntu; elsewhere see the list in ci/deps.sh))
ifdef SAN
CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# Hundreds of test programs are linked.  lld, if installed, is three times as fast.
LDTESTS := $(if $(shell command -v ld.lld),-fuse-ld=lld)
CFLAGS_ALL = $(NEEDED)-std=c11 $(if $(SAN),-DSANITIZED) $(WARN) $(HARDEN) $(CFLAGS) $(CPPFLAGS) -MMD -MP

# Before a command: prints "  $1 TARGET" instead of the command, unless V=1.
brief = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '  $1 $@' && )

SRC     := $(filter-out runner/main.c,$(wildcard base/*.c cgroups/*.c images/*.c cells/*.c runner/*.c runner/*/*.c runner/*/*/*.c))
OBJ     := $(SRC:%.c=$B/o/%.o)
TSRC    := $(wildcard tests/unit/*/test_*.c)
TESTS   := $(TSRC:tests/unit/%.c=$B/unit/%)
FSRC    := $(wildcard tests/fuzz/fuzz_*.c)
REPLAY  := $(FSRC:tests/fuzz/fuzz_%.c=$B/replay/%)

all: $B/fuzzcell

$B/fuzzcell: $B/o/runner/main.o $(OBJ)
	@mkdir -p $(@D)
	$(call brief,LD)$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ $(LIBS)

$B/o/%.o: %.c
	@mkdir -p $(@D)
	$(call brief,CC)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# Process 1 of a cell runs in any root, so it is linked statically.
INITFLAGS = $(NEEDED)-std=c11 $(WARN) -O2 -D_GNU_SOURCE -I. -fstack-protector-strong -D_FORTIFY_SOURCE=2
$B/init: images/init/init.c images/init/each.c images/init/nest.c images/init/each.h images/init/nest.h images/init.h
	@mkdir -p $(@D)
	$(call brief,LD)$(CC) $(INITFLAGS) -static -s -Wl,-z,noexecstack -o $@ $(filter %.c,$^)

# The files that are embedded in objects; -MMD does not see them.
$B/o/cells/host.o $B/t/cells/host.o $B/z/cells/host.o: $B/init
$B/o/runner/serve/page/assets.o $B/t/runner/serve/page/assets.o: \
	$(wildcard runner/serve/assets/*.* runner/serve/assets/vendor/*/*)

# Test builds get fault points; they never share objects with the product.
$B/t/%.o: %.c
	@mkdir -p $(@D)
	$(call brief,CC)$(CC) $(CFLAGS_ALL) -DFAULTS -c -o $@ $<

$B/t/lib.a: $(SRC:%.c=$B/t/%.o)
	@rm -f $@
	$(call brief,AR)ar rcs $@ $^

$B/unit/%: $B/t/tests/unit/%.o $B/t/lib.a
	@mkdir -p $(@D)
	$(call brief,LD)$(CC) $(CFLAGS_ALL) $(LDTESTS) -pie -o $@ $^ -lcmocka $(LIBS)

# A parser's fuzz target without an engine: runs the given files.
$B/replay/%: $B/t/tests/fuzz/fuzz_%.o $B/t/tests/fuzz/replay.o $B/t/lib.a
	@mkdir -p $(@D)
	$(call brief,LD)$(CC) $(CFLAGS_ALL) $(LDTESTS) -pie -o $@ $^ $(LIBS)

-include tests/targets/targets.mk
-include examples/examples.mk
-include ci/ci.mk
-include tests/bench/bench.mk
-include tests/bench/schedule.mk
-include tests/reports/reports.mk
-include tests/reports/generated.mk
-include tests/publish/publish.mk
-include tests/formats/formats.mk
-include tests/web/web.mk
-include tests/docker/docker.mk
-include tests/slurm/slurm.mk
-include tests/vm/vm.mk

deps: ; ci/deps.sh build

# Units go to systemd's directory for this PREFIX; SYSTEMD_DIR= installs none.
ifeq ($(PREFIX),/usr)
SYSTEMD_DIR ?= $(shell pkg-config --variable=systemdsystemunitdir systemd 2>/dev/null)
endif
SYSTEMD_DIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR  ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITS       := $(if $(SYSTEMD_DIR),fuzzcell.service fuzzcell.timer fuzzcell.slice fuzzcell-serve.service)
DOCDIR      := $(PREFIX)/share/doc/fuzzcell
COMPLETIONS := $(PREFIX)/share/bash-completion/completions

install: all
	install -D -m 0755 $B/fuzzcell $(DESTDIR)$(PREFIX)/bin/fuzzcell
	install -D -m 0644 docs/fuzzcell.1 $(DESTDIR)$(PREFIX)/share/man/man1/fuzzcell.1
	install -D -m 0644 docs/fuzzcell.bash $(DESTDIR)$(COMPLETIONS)/fuzzcell
	install -D -m 0644 examples/config.json $(DESTDIR)$(DOCDIR)/config.json
	$(foreach u,$(UNITS),sed 's|/usr/local/bin/|$(PREFIX)/bin/|; s|/etc/|$(SYSCONFDIR)/|g' systemd/$u | \
		install -D -m 0644 /dev/stdin $(DESTDIR)$(SYSTEMD_DIR)/$u &&) true
	install -d -m 0700 $(DESTDIR)$(SYSCONFDIR)/fuzzcell/secrets

# The user's files stay: configuration, secrets and state.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/fuzzcell $(DESTDIR)$(PREFIX)/share/man/man1/fuzzcell.1 \
		$(DESTDIR)$(COMPLETIONS)/fuzzcell $(DESTDIR)$(DOCDIR)/config.json $(UNITS:%=$(DESTDIR)$(SYSTEMD_DIR)/%)
	-rmdir $(DESTDIR)$(DOCDIR) $(DESTDIR)$(SYSCONFDIR)/fuzzcell/secrets \
		$(DESTDIR)$(SYSCONFDIR)/fuzzcell 2>/dev/null

deb: all ; @B=$B deb/build.sh

# "fuzzcell" is the newest version; fuzzcell:VERSION stays when a later version is built.
COMPOSE  ?= docker compose
REVISION  = $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null)
image:
	FUZZCELL_IMAGE=fuzzcell:$(VERSION) $(COMPOSE) build --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION)
	docker tag fuzzcell:$(VERSION) fuzzcell

clean: ; rm -rf $B

.PHONY: all deps install uninstall image deb clean
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $B -name '*.d' 2>/dev/null)
