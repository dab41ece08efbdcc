# SPDX-License-Identifier: Apache-2.0
# Disk and output.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "many files: ended at the disk limit" {
	fuzz disk_files_fuzzer 60
	[ "$(value reason)" = disk-limit ]
}

@test "one big file: never larger than the limit" {
	fuzz disk_big_fuzzer 8
	[ "$(du -sm "$STATE" | cut -f1)" -le 200 ]
	[ ! -e "$STATE/work/$(basename "$LOGS")" ]
}

@test "filling /tmp stays in the cell's own scratch and memory" {
	fuzz disk_tmp_fuzzer 6
	grep -q '^planted: fill /tmp/planted: ' "$LOGS/$TARGET.log"
	[ "$(value memory_peak_bytes)" -le $((256 * 1024 * 1024)) ]
	# The places that it fills; how much room there is, others have a part in.
	for d in /tmp /var/tmp /dev/shm /run /dev; do
		[ ! -e "$d/planted" ]
	done
	[ "$(du -smx "$WORK" | cut -f1)" -le 300 ]
}

@test "strange files in its directories neither stop us nor get out" {
	fuzz disk_odd_fuzzer 6
	[ "$(value fuzzed)" = true ]
	[ -z "$(find "$STATE/corpus" "$STATE/logs" -mindepth 2 ! -type f ! -type d)" ]
}

@test "a flood of stderr: bounded memory and log, statistics still read" {
	bytes=$((1024 * 1024 * 1024))
	[ "$SLOW" -eq 1 ] || bytes=$((32 * 1024 * 1024))
	# 64 MiB/s are read at most: the flood alone takes 16 s, more on a busy machine.  It ends
	# when enough was done after it.
	config '"env": {"FLOOD_BYTES": "'$bytes'"}, "flags": ["-runs=20000"]' '"log_limit": "1MiB"'
	fuzz flood_fuzzer $((SLOW > 1 ? 60 : 150))
	[ "$(value fuzzed)" = true ]
	[ "$(value execs)" -gt 1000 ]
	[ "$(stat -c %s "$LOGS/$TARGET.log")" -le 1048576 ]
	[ "$(value log_bytes_dropped)" -gt $((bytes / 2)) ]
	rss=$(sed -n 's/.*"own_peak_rss_bytes": \([0-9]*\).*/\1/p' "$LOGS/summary.json")
	echo "# flood of $bytes bytes: fuzzcell's own peak $((rss / 1024)) KiB" >&3
	[ "$rss" -lt $((32 * 1024 * 1024)) ]
	run "$FUZZCELL" doctor --json --state-dir "$STATE" --targets "$TARGETS" --filter "$TARGET"
	jq -e '.targets[].findings[] | select(.code == "output-lost")' <<<"$output"
}
