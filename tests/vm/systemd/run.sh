#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a boot in the guest, at each of its two boots (ci/vm-systemd.sh).
set -u

cd "$(dirname "$0")" || exit
boot=${FUZZCELL_TEST_BOOT:-1}
bats --tap "boot$boot.bats" || exit
[[ $boot -eq 2 ]] || touch /fuzzcell/.vm/reboot
