# SPDX-License-Identifier: Apache-2.0
# Resources of the machine, and fuzzcell's messages about them.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "the limits that this machine can keep are printed at start" {
	fuzz healthy_fuzzer 1
	[[ $output == *"cells: $(layout) cgroups at "*"kept: memory no-swap memory-mark cpu pids pressure kill"* ]]
}

@test "a service with Delegate=yes uses its own group, and removes it [unified only]" {
	[ "$(layout)" = unified ] || skip 'needs systemd on the unified layout'
	sed -i 's/"cgroup": "[^"]*",//' "$STATE/config.json"
	run systemd-run --quiet --wait --pipe --property=Delegate=yes --setenv=HOME=/root \
		"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" \
		--filter healthy_fuzzer --max-fuzzer-time 3s
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"unified cgroups at /sys/fs/cgroup/system.slice/"* ]]
}

# bats test_tags=slow
@test "the sum of the cells' memory limits never exceeds the machine's memory" {
	total=$(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
	sed -i "s/\"memory\": \"256MiB\"/\"memory\": \"$((total * 6 / 10))MiB\"/" "$STATE/config.json"
	mkdir "$WORK/out"
	cp "$TARGETS"/{healthy,forge}_fuzzer "$WORK/out"
	run timeout $((120 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/out" \
		--workers 2 --max-fuzzer-time $((3 * TIMES))s
	echo "$output"
	[ "$status" -eq 0 ]
	# The cells run one after the other, although there are two workers.
	first=$(grep -n 'ended' <<<"$output" | head -n 1 | cut -d: -f1)
	second=$(grep -n 'started' <<<"$output" | tail -n 1 | cut -d: -f1)
	[ "$first" -lt "$second" ]
}

@test "another root directory serves as well as the host's" {
	root=$WORK/root
	mkdir -p "$root"
	for d in bin lib lib64 usr; do
		mkdir "$root/$d"
	done
	# Only the files that the target needs.
	ldd "$TARGETS/healthy_fuzzer" | grep -o '/[^ ]*' | while read -r f; do
		mkdir -p "$root/$(dirname "$f")"
		cp -L "$f" "$root/$f"
	done
	chmod -R go+rX "$root"
	sed -i 's#^ "run"# "rootfs": "'"$root"'", "run"#' "$STATE/config.json"
	fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	[ "$(value execs)" -gt 100 ]
}

# copies NUMBER: makes this number of targets.
copies() {
	mkdir "$WORK/out"
	for ((i = 0; i < $1; i++)); do
		cp "$TARGETS/healthy_fuzzer" "$WORK/out/copy${i}_fuzzer"
	done
}

# bats test_tags=host,slow
@test "with few descriptors fewer workers run, with a message, and every target fuzzes" {
	config '"merge_time": "off", "triage_time": "off"'
	copies 8
	run bash -c "ulimit -n 256 && timeout $((300 * SLOW)) $FUZZCELL run --plain --workers 64 \
		--state-dir $STATE --targets $WORK/out --max-fuzzer-time $((2 * TIMES))s"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"workers instead of 64: the limit of open files is 256; raise it"* ]]
	[[ $output != *startup-failed* ]]
	[[ $output == *"run "*": 8 targets in "*" 0 failures, "*" 0 not fuzzed"* ]]
	# Several cells run at the same time.
	[[ $output =~ ([0-9]+)' workers instead of 64' ]]
	[ "${BASH_REMATCH[1]}" -ge 3 ]
}

# bats test_tags=host
@test "a limit of descriptors that allows no cell is an error of the machine" {
	copies 1
	for command in 'run --plain' 'corpus minimize' regress; do
		run bash -c "ulimit -n 90 && timeout 60 $FUZZCELL $command --state-dir $STATE \
			--targets $WORK/out"
		echo "$output"
		[ "$status" -eq 3 ]
		[[ $output == *"the limit of open files (90) is too low for a single cell: raise it"* ]]
	done
	run bash -c "ulimit -n 90 && timeout 60 $FUZZCELL doctor --state-dir $STATE --targets $WORK/out"
	[[ $output == *open-files* ]]
}

# bats test_tags=host,slow
@test "a limit of our own that crun cannot raise is an error of the machine" {
	local limit
	copies 5
	for limit in '-f 2000' '-t 20'; do
		run bash -c "ulimit $limit && timeout $((120 * SLOW)) $FUZZCELL run --plain --workers 2 \
			--state-dir $STATE --targets $WORK/out --max-fuzzer-time $((2 * TIMES))s"
		echo "$output"
		[ "$status" -eq 3 ]
		[[ $output == *"no cell could be started: setrlimit "*": free what is short"* ]]
		[[ $output != *startup-failed* ]]
	done
	run bash -c "ulimit -f 100 && $FUZZCELL run --plain --state-dir $STATE --targets $WORK/out"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"our own limit of a file's size is 102400 bytes: raise it (ulimit -f)"* ]]
}

@test "a caller that ignored SIGCHLD changes nothing" {
	# timeout(1) itself would set SIGCHLD to its default.
	run timeout $((60 * SLOW)) bash -c "trap '' CHLD && exec $FUZZCELL run --plain --state-dir $STATE \
		--targets $TARGETS --filter healthy_fuzzer --max-fuzzer-time $((2 * TIMES))s"
	echo "$output"
	[ "$status" -eq 0 ]
}

# with_inodes INODES: a run with this number of inodes for bundles; a cell takes some forty.
with_inodes() {
	run unshare -m bash -c "mkdir -p /run/fuzzcell && mount -t tmpfs -o nr_inodes=$1 tmpfs \
		/run/fuzzcell && timeout $((120 * SLOW)) $FUZZCELL run --plain --workers 3 \
		--state-dir $STATE --targets $WORK/out --max-fuzzer-time $((1 * TIMES))s"
	echo "$output"
}

# bats test_tags=host
@test "a shortage during a run costs workers, not targets" {
	config '"merge_time": "off", "triage_time": "off"'
	copies 3
	with_inodes 70
	[ "$status" -eq 0 ]
	# The second is crun's message for the same.
	[[ $output =~ "no more than "[0-9]+" cells for now: ".*("No space left on device"|"cannot create state directory") ]]
	[[ $output != *startup-failed* ]]
	[[ $output == *"run "*": 3 targets in "*" 0 failures, "*" 0 not fuzzed"* ]]
	[ "$(grep -c 'no more than' <<<"$output")" -eq 1 ]
}

# bats test_tags=host
@test "a run that cannot start a single cell ends and names the shortage" {
	config '"merge_time": "off", "triage_time": "off"'
	copies 5 # some have not had their turn when no worker is left
	with_inodes 20
	[ "$status" -eq 3 ]
	[[ $output == *"no cell could be started: "*"No space left on device: free what is short"* ]]
	[[ $output != *startup-failed* ]]
}
