#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests, or any command, in a real Debian 12 with systemd
# and the unified cgroup layout, emulated by QEMU (no KVM needed).
#
# usage: ci/vm.sh [OPTION...]                 run the tests, print their TAP
#        ci/vm.sh [OPTION...] -- COMMAND...   run COMMAND as root instead
#
#   --binary PATH      fuzzcell; default build/fuzzcell, in the guest
#                      /fuzzcell/build/fuzzcell and $FUZZCELL
#   --targets DIR      planted targets; default build/targets, in the guest
#                      /fuzzcell/build/targets and $TARGETS
#   --tests DIR        bats files; default tests/e2e, in the guest
#                      /fuzzcell/tests/e2e
#   --add PATH         also put PATH (file or directory) in /fuzzcell; may be
#                      given several times
#   --env NAME=VALUE   set a variable in the guest; may be given several times
#   --boots N          the machine may boot N times, and its disks are kept meanwhile:
#                      a command that leaves a file .vm/reboot is started again
#                      after a reboot, with $FUZZCELL_TEST_BOOT one higher
#   --timeout SECONDS  from power-on to the end; default 2400
#   --keep             keep the work directory (console log, payload disk,
#                      output) and print its path
#
# Tests find FUZZCELL_TEST_VM=1 and FUZZCELL_TEST_SLOW=10 (the factor by which
# deadlines should be longer here) in their environment.  They, or COMMAND, run
# in /fuzzcell as the main process of a service with Delegate=yes.  Their output
# goes to this script's standard output and standard error, byte for byte.  The
# guest's console is separate, and is shown on failure.  So this works:
#
#	ci/vm.sh -- tar -C /sys/fs/cgroup -c . > tree.tar
#
# The guest has no network, 2 CPUs and 3 GiB.  Its disks are discarded at the end.
#
# Exit status: that of COMMAND; 0 all tests passed; 1 a test failed or the plan
# was not kept; 2 wrong use or the machine failed; 124 the deadline passed.
#
# Needs root to build the image (tests/vm/image.sh) once and to install QEMU.
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/vm/need.sh
. "$TOP/tests/vm/need.sh"

usage() {
	sed -n '/^# usage/,/^# Needs/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

die() {
	echo "vm: $*" >&2
	exit 2
}

# Globals: the options, the work directory, the process to end.
binary=$TOP/build/fuzzcell
targets=$TOP/build/targets
tests=$TOP/tests/e2e
timeout=2400
boots=1
keep=
add=()
environment=()
command=()
work=
qemu=

parse() {
	while [[ $# -gt 0 ]]; do
		case $1 in
		--binary | --targets | --tests | --add | --env | --boots | --timeout)
			[[ $# -ge 2 ]] || usage
			option "$1" "$2"
			shift 2
			;;
		--keep)
			keep=1
			shift
			;;
		--)
			shift
			[[ $# -gt 0 ]] || usage
			command=("$@")
			return
			;;
		*) usage ;;
		esac
	done
	[[ -x $binary && -f $binary ]] || die "no program '$binary': build it, or say --binary"
	[[ -d $targets ]] || die "no directory '$targets': build the targets, or say --targets"
	[[ -d $tests ]] || die "no directory '$tests': say --tests"
}

option() {
	case $1 in
	--binary) binary=$2 ;;
	--targets) targets=$2 ;;
	--tests) tests=$2 ;;
	--add) add+=("$2") ;;
	--env)
		[[ $2 == [A-Za-z_]*=* ]] || die "--env wants NAME=VALUE, not '$2'"
		environment+=("$2")
		;;
	--boots)
		[[ $2 =~ ^[1-9]$ ]] || die "--boots wants a number up to 9, not '$2'"
		boots=$2
		;;
	--timeout)
		[[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || die "--timeout wants seconds, not '$2'"
		timeout=$2
		;;
	esac
}

# Runs at every exit except SIGKILL; then the kernel sends QEMU its signal.
cleanup() {
	if [[ -n $qemu ]]; then
		kill "$qemu" 2>/dev/null || true
		wait "$qemu" || true
	fi
	if [[ -n $work && -n $keep ]]; then
		echo "vm: kept $work" >&2
	elif [[ -n $work ]]; then
		rm -rf "$work"
	fi
}

# The second disk: all files of this run.
make_payload() {
	local dir=$work/payload size path

	mkdir -p "$dir/.vm" "$dir/build" "$dir/tests"
	[[ ! -e $binary ]] || cp -L "$binary" "$dir/build/fuzzcell"
	[[ ! -e $targets ]] || cp -rL "$targets" "$dir/build/targets"
	[[ ! -e $tests ]] || cp -rL "$tests" "$dir/tests/e2e"
	for path in "${add[@]}"; do
		cp -rL "$path" "$dir/"
	done
	cp "$TOP/tests/vm/guest.sh" "$dir/.vm/"
	if [[ ${#command[@]} -gt 0 ]]; then
		printf '%s\0' "${command[@]}" >"$dir/.vm/argv"
	else
		printf '%s\0' bats --tap tests/e2e >"$dir/.vm/argv"
	fi
	printf '%s\0' HOME=/root LANG=C.UTF-8 TERM=dumb \
		FUZZCELL=/fuzzcell/build/fuzzcell TARGETS=/fuzzcell/build/targets \
		FUZZCELL_TEST_VM=1 FUZZCELL_TEST_SLOW=10 \
		"${environment[@]}" >"$dir/.vm/environment"
	size=$(du -sm "$dir" | cut -f 1)
	mke2fs -q -t ext4 -O ^has_journal -m 0 -E root_owner=0:0 -d "$dir" \
		"$work/payload.img" "$((size + size / 4 + 512))M" >/dev/null
	rm -r "$dir"
}

# port NAME FILE: QEMU's options for a virtio-serial port that writes to FILE.
port() {
	printf '%s\n' -chardev "file,id=$1,path=$2" \
		-device "virtserialport,chardev=$1,name=$1"
}

# The root disk: its changes are discarded, or it is a copy that is kept for all boots.
root_disk() {
	if [[ $boots -eq 1 ]]; then
		echo "file=$1/root.img,format=raw,if=virtio,snapshot=on,cache=unsafe"
		return
	fi
	cp --sparse=always "$1/root.img" "$work/root.img"
	echo "file=$work/root.img,format=raw,if=virtio,cache=unsafe"
}

# power_on SECONDS ARGUMENT...: runs QEMU until the guest powers off or resets, at most SECONDS.
power_on() {
	local status=0 limit=$1
	shift

	# If this script is killed, timeout gets SIGTERM and passes it on.
	setpriv --pdeathsig TERM timeout --kill-after=5 "$limit" \
		qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
		-machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 3072 -nic none "$@" \
		</dev/null >>"$work/qemu" 2>&1 &
	qemu=$!
	wait "$qemu" || status=$?
	qemu=
	return "$status"
}

# Boots the guest, copies the command's output to ours and to files, and waits for the end.
boot() {
	local image=$1 disk ports readers=() status=0 n
	local append='console=ttyS0 quiet panic=-1 psi=1 mitigations=off no5lvl'

	# On a busy machine timers are late, and the guest's kernel would treat them as broken.
	append+=' tsc=reliable no_timer_check'
	disk=$(root_disk "$image")
	exec 5> >(exec tee "$work/stdout")
	readers+=("$!")
	exec 6> >(exec tee "$work/stderr" >&2)
	readers+=("$!")
	mapfile -t ports < <(port stdout /dev/fd/5 && port stderr /dev/fd/6 &&
		port status "$work/status")
	for ((n = 1; n <= boots && status == 0 && timeout > SECONDS; n++)); do
		[[ ! -s $work/status ]] || break
		power_on $((timeout - SECONDS)) -kernel "$image/vmlinuz" -initrd "$image/initrd" \
			-append "$append systemd.setenv=FUZZCELL_TEST_BOOT=$n" -drive "$disk" \
			-drive "file=$work/payload.img,format=raw,if=virtio,cache=unsafe" \
			-serial "file:$work/console.$n" -device virtio-serial "${ports[@]}" || status=$?
	done
	exec 5>&- 6>&-
	wait "${readers[@]}" || true
	cat "$work"/console.* >"$work/console"
	return "$status"
}

# check_tap FILE: succeeds when the file has a plan, all its tests, and no failure.
check_tap() {
	awk '
		/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; plans++ }
		/^(not )?ok / { tests++ }
		/^not ok / && !/# (TODO|SKIP|todo|skip)/ { failed++ }
		/^ok .*# skip/ { skipped++ }
		END {
			printf "vm: %d planned, %d ran, %d failed, %d skipped\n", plan, tests, failed, skipped
			exit !(plans == 1 && plan > 0 && tests == plan && failed == 0)
		}
	' "$1" >&2
}

show_console() {
	echo 'vm: the last lines of the console:' >&2
	tail -n 100 "$work/console" >&2 || true
}

# verdict STATUS: our exit status from QEMU's STATUS and the files.
verdict() {
	local status

	if [[ $1 -eq 124 || $1 -eq 137 ]]; then
		show_console
		echo "vm: not finished after $timeout s" >&2
		return 124
	fi
	status=$(cat "$work/status" 2>/dev/null) || status=
	if [[ ! $status =~ ^[0-9]+$ ]]; then
		show_console
		cat "$work/qemu" >&2
		echo "vm: the guest ended without a status (QEMU: $1)" >&2
		return 2
	fi
	[[ ${#command[@]} -eq 0 ]] || return "$status"
	check_tap "$work/stdout" && [[ $status -eq 0 ]] && return 0
	show_console
	return 1
}

main() {
	local image status=0

	parse "$@"
	need qemu-system-x86 e2fsprogs
	image=$("$TOP/tests/vm/image.sh") || die 'no image'
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	work=$(mktemp -d "${TMPDIR:-/tmp}/fuzzcell-vm.XXXXXX")
	make_payload
	SECONDS=0
	boot "$image" || status=$?
	if verdict "$status"; then
		status=0
	else
		status=$?
	fi
	echo "vm: $SECONDS s, status $status" >&2
	return "$status"
}

main "$@"
