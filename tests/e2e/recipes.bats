# SPDX-License-Identifier: Apache-2.0
# From sources to targets: building fuzzcell itself, and the recipes of docs/harness.md.
# bats file_tags=host
load lib

setup() {
	e2e_setup
	ROOT=$BATS_TEST_DIRNAME/../..
	unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS
}

teardown() { e2e_teardown; }

@test "make names what is not installed, and how to install it" {
	mkdir "$WORK/known"
	ln -s "$(pkg-config --variable=pcfiledir expat)/expat.pc" "$WORK/known"
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$WORK/known run make -C "$ROOT" -j2 B="$WORK/build"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"not installed: libsystemd jansson "*'"make deps" installs'* ]]
	[[ $output != *expat* && $output != *'No such file'* ]]
	run make -C "$ROOT" B="$WORK/build" CC=no-such-cc
	[ "$status" -eq 2 ]
	[[ $output == *"not installed: no-such-cc with the C library. \"make deps\" installs"* ]]
	# Other goals need nothing.
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$WORK/known run make -C "$ROOT" -n B="$WORK/build" deps clean
	[ "$status" -eq 0 ]
}
