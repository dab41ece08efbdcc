# SPDX-License-Identifier: Apache-2.0
# Disk and output.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=slow
@test "many files: ended at the disk limit" {
	fuzz disk_files_fuzzer 60
	[ "$(value reason)" = disk-limit ]
}

@test "one big file: never larger than the limit" {
	fuzz disk_big_fuzzer 8
	[ "$(du -sm "$STATE" | cut -f1)" -le 200 ]
	[ ! -e "$STATE/work/$(basename "$LOGS")" ]
}

# Each way to keep a file that no directory walk finds (tests/targets/disk_hidden_fuzzer.c).
@test "files without a name count: open, O_TMPFILE, mapped, in flight, in a thread" {
	for hide in 0 1 2 3 4; do
		config '"env": {"DISK_HIDE": "'$hide'"}'
		fuzz disk_hidden_fuzzer 30
		hid=$(grep -ao '^planted: hid [0-9]* MiB' "$LOGS/$TARGET.log" | tail -n 1 | tr -dc 0-9)
		echo "# hidden in way $hide: $hid MiB with a limit of 64 MiB" >&3
		[ "$(value reason)" = disk-limit ]
		! grep -aq '^planted: hide: SUCCEEDED' "$LOGS/$TARGET.log"
		rm -rf "${STATE:?}"/logs
	done
}

# small MIB [OPTION...]: the state directory in a file system of its own, made with the options.
small() {
	local mib=$1
	shift
	mkdir "$WORK/small"
	truncate -s "${mib}M" "$WORK/image"
	mkfs.ext4 -q -F -m 0 "$@" "$WORK/image"
	mount -o loop "$WORK/image" "$WORK/small"
	chmod 0755 "$WORK/small"
	STATE=$WORK/small/state
	mkdir "$STATE"
}

# bats test_tags=slow
@test "a cell that fills the disk ends; a well-behaved cell beside it goes on" {
	small 512
	config '"merge_time": "off"'
	sed -i 's/"workers": 1/"workers": 2/; s/"disk": "64MiB"/"disk": "2GiB"/' "$STATE/config.json"
	mkdir "$WORK/two"
	cp "$TARGETS"/{disk_hidden,healthy}_fuzzer "$WORK/two"
	TARGETS=$WORK/two fuzz '*' 10
	LOGS=$(last_logs)
	TARGET=disk_hidden_fuzzer
	[ "$(value reason)" = disk-limit ]
	TARGET=healthy_fuzzer
	[ "$(value reason)" != disk-limit ]
	[ "$(value fuzzed)" = true ]
	grep -q 'all cells are frozen' "$LOGS/runner.log"
}

@test "artifacts of many cells count together" {
	config '"triage_time": "off", "merge_time": "off", "env": {"DISK_FILES": "40"}'
	fuzz disk_again_fuzzer 60
	[ "$(value restarts)" -ge 1 ]
	grep -aq 'artifacts were not kept' "$LOGS/$TARGET.log"
	[ "$(du -sm "$LOGS/crashes" | cut -f1)" -le 65 ]
}

# bats test_tags=slow
@test "a corpus larger than the limit does not count as written by the target" {
	mkdir -p "$STATE/corpus/healthy_fuzzer"
	for i in 1 2 3; do
		head -c 30M /dev/urandom >"$WORK/seed"
		sum=$(sha1sum "$WORK/seed")
		mv "$WORK/seed" "$STATE/corpus/healthy_fuzzer/${sum%% *}"
	done
	config '"merge_time": "off", "max_len": 64'
	fuzz healthy_fuzzer 13 # longer than the interval between two directory walks
	[ "$(value fuzzed)" = true ]
	[ "$(value reason)" != disk-limit ]
}

@test "no inode is left after a kill: the next start saves inputs, frees inodes and fuzzes" {
	small 64 -N 1024
	config '"merge_time": "off"'
	sed -i 's/"disk_reserve": "64MiB"/"disk_reserve": "1MiB"/' "$STATE/config.json"
	fuzz healthy_fuzzer 2
	[ "$status" -eq 0 ]
	dir=$STATE/work/20200101-000000/healthy_fuzzer
	mkdir -p "$dir"/{corpus,artifacts,seeds} "$STATE/logs/20200101-000000/crashes"
	printf 'an input' >"$dir/corpus/$(printf 'an input' | sha1sum | cut -c1-40)"
	i=0
	# It ends when no inode is left, and the shell would report that on stderr.
	while : 2>/dev/null >"$dir/artifacts/junk-$i"; do
		i=$((i + 1))
	done
	[ "$(df --output=iavail "$STATE" | tail -n 1)" -eq 0 ]
	fuzz healthy_fuzzer 2
	[ "$status" -eq 0 ]
	[ "$(value fuzzed)" = true ]
	[ -e "$STATE/corpus/healthy_fuzzer/$(printf 'an input' | sha1sum | cut -c1-40)" ]
	[ ! -e "$dir" ]
}

# bats test_tags=slow
@test "filling /tmp stays in the cell's own scratch and memory" {
	fuzz disk_tmp_fuzzer 6
	grep -q '^planted: fill /tmp/planted: ' "$LOGS/$TARGET.log"
	[ "$(value memory_peak_bytes)" -le $((256 * 1024 * 1024)) ]
	# The directories that the target fills; their free space also depends on other processes.
	for d in /tmp /var/tmp /dev/shm /run /dev; do
		[ ! -e "$d/planted" ]
	done
	[ "$(du -smx "$WORK" | cut -f1)" -le 300 ]
}

# bats test_tags=slow
@test "strange files in a cell's directories neither stop fuzzcell nor leave the cell" {
	fuzz disk_odd_fuzzer 6
	[ "$(value fuzzed)" = true ]
	[ -z "$(find "$STATE/corpus" "$STATE/logs" -mindepth 2 ! -type f ! -type d)" ]
}

# bats test_tags=slow
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
