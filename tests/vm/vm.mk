# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make systemd-tests` checks the units, installs them in a Debian
# under QEMU, and has a push fuzzed there, also across a reboot.  Prints TAP, and needs root.
systemd-tests: all targets
	B=$(abspath $B) ci/vm-systemd.sh

.PHONY: systemd-tests
