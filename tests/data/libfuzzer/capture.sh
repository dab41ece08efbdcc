#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# capture.sh CLANG DIR: what libFuzzer of that clang prints when a fuzz job ends in
# each way, shortened, into DIR/<way>; the exit status as a last line "exit N".  The
# command is the adapter's own (launch.c).
set -eu
clang=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out" "$tmp/seeds"
printf 'FU' >"$tmp/seeds/fu"
printf 'x' >"$tmp/seeds/x"
printf 'a="b\n' >"$tmp/bad.dict"
root=$here/../../..
cc -std=c11 -D_GNU_SOURCE -I"$root" -o "$tmp/launch" "$here/launch.c" "$root"/runner/engine/*.c "$root"/runner/engine/*/*.c \
	"$root"/base/buf.c "$root"/base/err.c "$root"/base/fault.c "$root"/base/scan.c "$root"/base/sys.c
build() { "$clang" -g -O0 -w -fsanitize="$2" -o "$tmp/$1" "$here/target.c"; }
build asan fuzzer,address
build ubsan fuzzer,undefined
build msan fuzzer,memory
"$clang" -O0 -w -c -o "$tmp/noinstr.o" "$here/target.c"
"$clang" -fsanitize=fuzzer,address -o "$tmp/noinstr" "$tmp/noinstr.o"

# Addresses, frames, shadow memory and the temporary directory are not the point.
shorten() {
	sed -e "s|$tmp|/w|g" -e "s|$here|/src|g" -e '/^    #/d' -e '/^  *0x[0-9a-f]* is located/d' \
		-e '/^=*>*0x/d' -e '/^  0x/d' -e '/^  [A-Z][a-z A-Z-]*: *[0-9a-f][0-9a-f]/d' \
		-e '/^Shadow byte/d' -e '/^Base64/d' -e '/^	NEW_FUNC/d'
}

# way binary seeds [flag...]: SIG, when set, is sent to the job once it fuzzes.
run() {
	way=$1 bin=$2 seeds=$3
	shift 3
	rm -rf "$tmp/corpus" "$tmp/art" "$tmp/log"
	mkdir "$tmp/corpus" "$tmp/art"
	MODE="$way" "$tmp/launch" "$tmp/$bin" "$tmp" "$seeds" "$@" >"$tmp/log" 2>&1 &
	pid=$!
	if [ "${SIG:-}" ]; then
		until grep -qs INITED "$tmp/log"; do kill -0 "$pid"; sleep 0.05; done
		kill -s "$SIG" "$pid"
	fi
	code=0
	wait "$pid" || code=$?
	{ shorten <"$tmp/log" && echo "exit $code"; } >"$out/$way"
	echo "$way: $code"
}

for way in crash segv abort exit quietexit leak malloc timeout; do
	run "$way" asan "$tmp/seeds"
done
run oom asan "$tmp/seeds"
run ub ubsan "$tmp/seeds"
run uninit msan "$tmp/seeds"
run startexit asan "$tmp/seeds"
run startcrash asan "$tmp/seeds"
run noinstr noinstr - -runs=1000
run baddict asan - -DICT="$tmp/bad.dict"
run nodir asan "$tmp/absent"
run runs asan - -runs=20000
run seeded asan "$tmp/seeds" -runs=20000
SIG=TERM run term asan -
SIG=USR1 run usr1 asan -
SIG=ABRT run dump asan -
