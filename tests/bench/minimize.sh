#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The size of minimised reproducers, compared with the engine's own minimiser in the same time, on
# twelve planted formats (formats.c).  Each runs on one core, one after the other.
#
# usage: B=build tests/bench/minimize.sh
#
# SECONDS_EACH=10   for each of both
# FORMATS="1 2 3"   only these
set -euo pipefail

B=${B:-build}
here=$(dirname "$0")
seconds=${SECONDS_EACH:-10}
read -r -a formats <<<"${FORMATS:-1 2 3 4 5 6 7 8 9 10 11 12}"
clang=${CLANG:-clang}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
export ASAN_OPTIONS=detect_leaks=0

build() { # FORMAT
	"$clang" -D_GNU_SOURCE -g -O1 -DFORMAT="$1" -DGENERATE "$here/formats.c" -o "$tmp/generate"
	"$tmp/generate" >"$tmp/input"
	mkdir -p "$tmp/targets"
	rm -f "$tmp/targets"/*
	"$clang" -D_GNU_SOURCE -g -O1 -fsanitize=address,fuzzer -DFORMAT="$1" "$here/formats.c" \
		-o "$tmp/targets/format_fuzzer"
}

size() { stat -c %s "$1"; }

by_engine() {
	rm -f "$tmp/by_engine"
	(cd "$tmp" && taskset -c 0 "$tmp/targets/format_fuzzer" -minimize_crash=1 -max_total_time="$seconds" \
		-exact_artifact_path="$tmp/by_engine" "$tmp/input") >"$tmp/log" 2>&1 || true
	[[ -s $tmp/by_engine ]] || cp "$tmp/input" "$tmp/by_engine"
	size "$tmp/by_engine"
}

by_fuzzcell() {
	local signature
	rm -rf "$tmp/state"
	mkdir -p "$tmp/state/triage/format_fuzzer"
	echo '{"run": {"workers": 1, "disk_reserve": "64MiB"}, "defaults": {"minimize_time": "off", "cpus": 1}}' \
		>"$tmp/state/config.json"
	cp "$tmp/input" "$tmp/state/triage/format_fuzzer/crash-$(sha1sum <"$tmp/input" | cut -c 1-40)"
	"$B/fuzzcell" crash triage --state-dir "$tmp/state" --targets "$tmp/targets" >"$tmp/log" 2>&1
	signature=$(jq -r 'keys[0]' "$tmp/state/known_crashes.json")
	taskset -c 0 "$B/fuzzcell" crash minimize --state-dir "$tmp/state" --targets "$tmp/targets" \
		--time "${seconds}s" "$signature" >"$tmp/log" 2>&1 || true
	if [[ -s $tmp/state/crashes/$signature/minimized ]]; then
		cp "$tmp/state/crashes/$signature/minimized" "$tmp/by_fuzzcell"
	else
		cp "$tmp/input" "$tmp/by_fuzzcell"
	fi
	size "$tmp/by_fuzzcell"
}

printf '%-8s %8s %10s %10s %7s\n' format input engine fuzzcell ratio
for format in "${formats[@]}"; do
	build "$format"
	engine=$(by_engine)
	ours=$(by_fuzzcell)
	printf '%-8s %8d %10d %10d %7.2f\n' "$format" "$(size "$tmp/input")" "$engine" "$ours" \
		"$(awk -v a="$ours" -v b="$engine" 'BEGIN { print a / b }')"
done
