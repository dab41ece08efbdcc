#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The size of a corpus's cover compared with the corpus, and the loss when fuzzing starts from the
# cover.  fuzzcell fuzzes each target first.  Then the engine alone continues from the corpus and
# from the cover, with the same random seeds and numbers of executions.
#
# usage: B=build tests/bench/cover.sh TARGET...
#
# SECONDS_EACH=60  fuzzing of each target before
# RUNS=3           pairs of each
# EXECS=20000      in each of them
set -euo pipefail

B=${B:-build}
seconds=${SECONDS_EACH:-60}
runs=${RUNS:-3}
execs=${EXECS:-20000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
export ASAN_OPTIONS=detect_leaks=0

# "<edges> <features>" of the last line of statistics.
reached() { sed -nE 's/^#.* cov: ([0-9]+) ft: ([0-9]+) .*/\1 \2/p' "$1" | tail -n 1; }

count() { find "$1" -type f | wc -l; }

# of DIR: the coverage of its inputs.
of() {
	"$target" -runs=0 "$1" >"$tmp/log" 2>&1 || true
	reached "$tmp/log"
}

# from DIR SEED: the coverage of a copy of it after more fuzzing.
from() {
	rm -rf "$tmp/copy"
	cp -r "$1" "$tmp/copy"
	(cd "$tmp" && "$target" -seed="$2" -runs=$((execs + $(count "$1"))) copy) >"$tmp/log" 2>&1 || true
	reached "$tmp/log"
}

printf '%-26s %17s %15s %15s   %s\n' target 'inputs: all cover' 'edges' 'features' \
	'new features from: all cover, each pair'
for target in "$@"; do
	target=$(realpath "$target") # allow: only for bench
	name=$(basename "$target")
	rm -rf "$tmp/out" "$tmp/state" "$tmp/all" "$tmp/cover"
	mkdir "$tmp/out"
	cp "$target"* "$tmp/out"
	"$B/fuzzcell" run --no-build --targets "$tmp/out" --state-dir "$tmp/state" --workers 1 \
		--max-total-time "${seconds}s" >"$tmp/log" 2>&1 || { cat "$tmp/log" && exit 1; }
	"$B/fuzzcell" corpus minimize --targets "$tmp/out" --state-dir "$tmp/state" >"$tmp/log" 2>&1
	"$B/fuzzcell" corpus export --state-dir "$tmp/state" --all -o "$tmp/all" >"$tmp/log"
	"$B/fuzzcell" corpus export --state-dir "$tmp/state" -o "$tmp/cover" >"$tmp/log"
	read -r edges features <<<"$(of "$tmp/all/$name")"
	read -r cover_edges cover_features <<<"$(of "$tmp/cover/$name")"
	printf '%-26s %8d %8d %7d %7d %7d %7d  ' "$name" "$(count "$tmp/all/$name")" \
		"$(count "$tmp/cover/$name")" "$edges" "$cover_edges" "$features" "$cover_features"
	for ((i = 1; i <= runs; i++)); do
		read -r _ a <<<"$(from "$tmp/all/$name" "$i")"
		read -r _ b <<<"$(from "$tmp/cover/$name" "$i")"
		printf ' %d %d,' $((a - features)) $((b - cover_features))
	done
	printf '\n'
done
