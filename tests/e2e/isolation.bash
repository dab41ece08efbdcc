# SPDX-License-Identifier: Apache-2.0
# Attacks on a cell by planted targets in TARGETS, for each engine.  SHOWN: members of "env" with
# which the engine shows what a target prints.

successes() { grep -a '^planted: .*SUCCEEDED' "$LOGS/$TARGET.log" || true; }

reaches_no_network() { # SECONDS
	config '"env": {'"${SHOWN:-}"'}'
	fuzz network_fuzzer "$1"
	[ "$(value fuzzed)" = true ]
	grep -aq '^planted: ' "$LOGS/$TARGET.log"
	# A local socket may be made, but there is nothing to connect it to.
	[ "$(successes | grep -vc 'socket AF_UNIX')" -eq 0 ]
}

does_not_escape() { # SECONDS
	sleep 300 3>&- &
	local outside=$!
	config '"env": {'"${SHOWN:+$SHOWN, }"'"PLANTED_PID": "'$outside'"}'
	fuzz escape_fuzzer "$1"
	kill "$outside"
	grep -aq '^planted: escape: all tried' "$LOGS/$TARGET.log"
	successes
	[ -z "$(successes)" ]
}

eats_only_its_copy() { # SECONDS
	local before i
	config '"merge_time": "off"' # a merge may make it smaller
	mkdir -p "$STATE/corpus/eatcorpus_fuzzer"
	for i in 1 2 3 4 5; do
		printf 'seed %d' "$i" >"$WORK/s"
		cp "$WORK/s" "$STATE/corpus/eatcorpus_fuzzer/$(sha1sum <"$WORK/s" | cut -d' ' -f1)"
	done
	before=$(cd "$STATE/corpus/eatcorpus_fuzzer" && sha1sum -- *)
	fuzz eatcorpus_fuzzer "$1"
	[ "$(value execs)" -gt 0 ]
	(cd "$STATE/corpus/eatcorpus_fuzzer" && echo "$before" | sha1sum -c --quiet)
}
