#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing: ci/deps.sh [build|demo|check|check-all]
#
#   build      to compile and run fuzzcell (the default)
#   demo       build, and to compile fuzz targets and the libraries of examples/
#   check      demo, and `make check`
#   check-all  check, and `make check-all`
#
# Prints the packages that it installs; prints nothing when all are there.  Uses sudo when it does
# not run as root.  Updates apt's lists once when a package is missing.
# shellcheck disable=SC2046,SC2086 # lists of packages are words
set -eu

# libc6-dev: gcc only recommends it.  ca-certificates: libcurl only recommends it, and without it no
# https server is trusted.  git: pushes, and in-tree corpora.
build='gcc libc6-dev make pkg-config libjansson-dev libcgroup-dev libseccomp-dev libsystemd-dev
	libarchive-dev libmd-dev libcurl4-openssl-dev libssl-dev libexpat1-dev libmicrohttpd-dev
	libyaml-dev crun git ca-certificates'
# llvm: llvm-symbolizer.  libclang-rt: libFuzzer and the sanitizers, in the version of `clang`.
# dpkg-dev: unpacks source packages.  zip: seed corpora.
demo="$build clang llvm libclang-rt dpkg-dev zip"
# lld: links the tests.  parallel: bats runs several files at a time.  perl: prove.
# mandoc: checks the man page.  jq: reads fuzzcell's output.  procps: tests search for processes.
# e2fsprogs: file systems of a given size.  nodejs: the fake GitHub server.
# prometheus: promtool checks metrics and alert rules.  bazel-bootstrap: discovery and builds.
# cmake, ninja-build, meson: build cells and recipes.
check="$demo libcmocka-dev lld bats parallel jq clang-format shellcheck e2fsprogs perl mandoc procps
	nodejs prometheus bazel-bootstrap cmake ninja-build meson"
# qemu, mmdebstrap: virtual machines.  chromium: the dashboard; the font is for its screenshots.
# lintian: checks the Debian package.  afl++, golang-go: targets of
# other engines.  slurm, munge: rounds of shards.  iproute2: a free port.
all="$check slurmctld slurmd slurm-client munge iproute2 clang-tidy qemu-system-x86 mmdebstrap chromium fonts-dejavu-core npm lintian afl++ golang-go"
# For crash reports of other clang versions, if the distribution has them.
all="$all clang-16 libclang-rt-16-dev llvm-16 clang-19 libclang-rt-19-dev llvm-19"
# For crash reports of libraries: libc++'s hardening, and libraries that report errors of their
# caller.
all="$all libc++-19-dev libc++abi-19-dev libgoogle-glog-dev libabsl-dev llvm-14-dev"

fail() {
	printf 'deps: %s\n' "$*" >&2
	exit 3
}

# Package `clang` depends on clang-N; prints N of the installed or available version.
clang_version() {
	{ dpkg-query -W -f '${Depends}\n' clang 2>/dev/null ||
		apt-cache show --no-all-versions clang 2>/dev/null | grep '^Depends:'; } |
		sed -n 's/.*\<clang-\([0-9]\{1,\}\)\>.*/\1/p' | head -n 1
}

# Prints the names that the packages have on this machine.
resolve() {
	for p in "$@"; do
		case $p in
		libclang-rt)
			n=$(clang_version)
			echo "libclang-rt${n:+-$n-dev}"
			;;
		*-16 | *-19 | *-14-dev | *-16-dev | *-19-dev)
			[ -z "$(apt-cache show --no-all-versions "$p" 2>/dev/null)" ] || echo "$p"
			;;
		nodejs) command -v node >/dev/null || echo "$p" ;;
		npm) command -v npm >/dev/null || echo "$p" ;;
		*) echo "$p" ;;
		esac
	done
}

missing() {
	for p in $(resolve "$@"); do
		case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
		installed) ;;
		*) echo "$p" ;;
		esac
	done
}

case ${1:-build} in
build) wanted=$build ;;
demo) wanted=$demo ;;
check) wanted=$check ;;
check-all) wanted=$all ;;
*)
	echo 'usage: ci/deps.sh [build|demo|check|check-all]' >&2
	exit 2
	;;
esac
[ $# -le 1 ] || { echo 'usage: ci/deps.sh [build|demo|check|check-all]' >&2; exit 2; }

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	fail "no apt here; install what Debian calls:" $wanted
fi
[ -n "$(missing $wanted)" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || fail 'not root, no sudo; missing:' $(missing $wanted)
	root=sudo
fi
$root apt-get -q -q update || fail 'apt-get update failed'
install=$(missing $wanted) # again: names may depend on the lists
echo "deps: installing" $install
$root env DEBIAN_FRONTEND=noninteractive apt-get -q -q -y -o DPkg::Lock::Timeout=300 \
	-o Dpkg::Use-Pty=0 install --no-install-recommends $install >/dev/null ||
	fail 'apt-get install failed'
[ -z "$(missing $wanted)" ] || fail 'still missing:' $(missing $wanted)
