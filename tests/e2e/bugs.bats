# SPDX-License-Identifier: Apache-2.0
# A bug with many call paths has many stacks, but is one crash.
load lib

setup() {
	e2e_setup
	config '"minimize_time": "off"'
}

teardown() { e2e_teardown; }

triage() {
	run timeout $((300 * SLOW)) "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[ "$status" -eq 0 ]
}

# bats test_tags=host
@test "ten stacks of one bug in two targets are one crash, and a user may split them" {
	queue calc_fuzzer crash '$' '1$' '($' '[$' '-$' 'f$' 'f($' '-1$'
	queue calc_list_fuzzer crash 'x$' 'x1,(2*$'
	triage
	# A row for each signature in the ledger, but one crash.
	[ "$(ledger '[.[] | .bug] | unique | length')" -eq 1 ]
	[ "$(ledger length)" -ge 6 ]
	[ "$(ledger '[.[] | select(.merged_into == null)] | length')" -eq 1 ]
	[ "$(ledger '.[] | select(.merged_into == null).count')" -eq 10 ]
	run "$FUZZCELL" crash list --state-dir "$STATE"
	echo "$output"
	[ "$(grep -c Global-buffer-overflow <<<"$output")" -eq 1 ]
	[[ $output == *"in calc_peek ("*" variants)"* ]]
	# The crash is new once in each target that found it.
	[ "$(ledger '.[] | select(.merged_into == null) | [.fuzzer] + .targets | sort | join(" ")')" = \
		'calc_fuzzer calc_list_fuzzer' ]
	# Each variant has its own input, which fails.
	variant=$(ledger '[to_entries[] | select(.value.merged_into != null)][0].key')
	[ -s "$STATE/crashes/$variant/input" ]
	# A user splits one variant off; it stays split.
	"$FUZZCELL" crash split "$variant" --state-dir "$STATE"
	input=$(cat "$STATE/crashes/$variant/input")
	queue "$(jq -r .target "$STATE/crashes/$variant/meta.json")" crash "$input "
	triage
	[ "$(ledger '[.[] | select(.merged_into == null)] | length')" -eq 2 ]
}
