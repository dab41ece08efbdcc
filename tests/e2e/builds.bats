# SPDX-License-Identifier: Apache-2.0
# One corpus, and builds of its target that fail on its inputs or ignore them.
load lib
setup() {
	e2e_setup
	mkdir "$WORK/t" "$WORK/in"
	CORPUS=$STATE/corpus/target
}
teardown() { e2e_teardown; }

build() { # BINARY: replaces the target by this binary
	cp "$1" "$WORK/t/target.new"
	mv "$WORK/t/target.new" "$WORK/t/target"
}

# An input that merge_fuzzer fails on begins with C.
add() { # NAME...
	local n
	mkdir -p "$CORPUS"
	for n in "$@"; do
		printf %s "$n" >"$WORK/in/$n"
		cp "$WORK/in/$n" "$CORPUS/$(sha1sum <"$WORK/in/$n" | cut -d' ' -f1)"
	done
}

minimize() {
	run timeout $((180 * SLOW)) "$FUZZCELL" corpus minimize --state-dir "$STATE" \
		--targets "$WORK/t" "$@"
	echo "$output"
}

files() { # DIR
	find "$1" -type f 2>/dev/null | wc -l
}

# Edges and features of a directory, as the engine itself counts them.
reach() { # BINARY DIR
	"$1" -runs=0 "$2" 2>&1 | sed -n 's/.*INITED cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 \2/p'
}

@test "inputs that fail in one build come back with the next build" {
	build "$TARGETS/merge_fuzzer"
	add a bb xyz C1 C22 C333
	minimize
	[ "$status" -eq 0 ]
	[[ $output == *"3 bad ones quarantined"* ]]
	[ "$(files "$STATE/quarantine/target")" -eq 3 ]
	minimize # the same build does not replay them again
	[[ $output != *quarantined* ]]
	build "$TARGETS/healthy_fuzzer"
	minimize --force # in fact another target
	[ "$status" -eq 0 ]
	[ "$(files "$STATE/quarantine/target")" -eq 0 ]
	[ "$(files "$STATE/retry/target")" -eq 0 ]
	all=$(reach "$TARGETS/healthy_fuzzer" "$WORK/in")
	now=$(reach "$TARGETS/healthy_fuzzer" "$CORPUS")
	[ "${now% *}" -ge "${all% *}" ]
	run timeout 60 "$FUZZCELL" corpus verify --state-dir "$STATE"
	[ "$status" -eq 0 ]
}

@test "a build that fails on most of a corpus takes nothing from it" {
	build "$TARGETS/merge_fuzzer"
	add a bb xyz $(seq -f 'C%g' 20)
	minimize
	[ "$status" -eq 0 ]
	[[ $output == *"target: kept: 23 -> 23 files"*"this build fails on too many inputs"* ]]
	[[ $output != *quarantined* ]]
	[ "$(files "$CORPUS")" -eq 23 ]
	[ "$(files "$STATE/quarantine")" -eq 0 ]
	minimize --force
	[[ $output == *"20 bad ones quarantined"* ]]
	[ "$(files "$CORPUS")" -le 3 ]
}

@test "a build that hardly reaches anything takes nothing from it" {
	build "$TARGETS/healthy_fuzzer"
	add a bb xyz FUZZ "$(printf %0100d 7)"
	minimize
	[ "$status" -eq 0 ]
	n=$(files "$CORPUS")
	build "$TARGETS/blind_fuzzer"
	minimize
	[ "$status" -eq 0 ]
	[[ $output == *"target: kept: $n -> $n files"*"the last one reached"* ]]
	[ "$(files "$CORPUS")" -eq "$n" ]
	minimize --force
	[[ $output == *"target: replaced: $n -> 1 files"* ]]
}
