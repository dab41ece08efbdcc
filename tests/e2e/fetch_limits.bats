# SPDX-License-Identifier: Apache-2.0
# Bombs among the objects of a push, and the limits of git that stop them.  The limits are
# small, and each push has a few hundred KiB.
load lib
load repo
bats_require_minimum_version 1.5.0

setup() {
	e2e_setup
	git_setup
	git init -q --bare "$WORK/up.git"
	git -C "$WORK/up.git" config core.bigFileThreshold 1g
	git clone -q "$WORK/up.git" "$WORK/dev"
	push code one
	GOOD=$(git -C "$WORK/dev" rev-parse HEAD)
	git clone -q "$WORK/up.git" "$WORK/tree"
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out/"
}

teardown() {
	# The run outlives a killed trigger.  It may have ended, though its lock file stays.
	if [ -n "${PID:-}" ] && [ -e "$STATE/lock" ]; then
		kill -9 "$(head -n 1 "$STATE/lock")" 2>/dev/null || true
	fi
	e2e_teardown
}

push() { # FILE TEXT
	echo "$2" >"$WORK/dev/$1"
	pushed
}

pushed() {
	git -C "$WORK/dev" add -A
	git -C "$WORK/dev" commit -q -m more
	git -C "$WORK/dev" push -q origin HEAD:main
}

# limits JSON [SECONDS]: sets git's limits, and the duration of a run.
limits() {
	config "\"max_time\": \"${2:-1}s\", \"merge_time\": \"off\""
	jq --arg w "$WORK" --argjson git "$1" '. + {git: $git,
		discovery: [{type: "directory", path: "\($w)/out"}],
		trigger: {repository: "\($w)/tree", interval: "1s"}}' \
		"$STATE/config.json" >"$WORK/c" && mv "$WORK/c" "$STATE/config.json"
}

trigger() {
	run timeout $((120 * SLOW)) "$FUZZCELL" trigger --state-dir "$STATE" 3>&-
	echo "$output"
}

# Pushes two files of 48 MiB in a pack of some 100 KiB.  A git that reads the second file holds
# both in memory.
delta_bomb() {
	head -c 50331648 /dev/zero >"$WORK/dev/a"
	(
		cat "$WORK/dev/a"
		echo more
	) >"$WORK/dev/b"
	pushed
	git -C "$WORK/up.git" repack -qadf --window-memory=0
	[ "$(du -sk "$WORK/up.git/objects" | cut -f 1)" -lt 2000 ]
	git -C "$WORK/up.git" verify-pack -v "$WORK"/up.git/objects/pack/*.idx | grep -q '^chain length = 1'
}

# A killed git left no files.
clean_objects() { [ -z "$(find "$WORK/tree/.git/" -name 'tmp_*' -o -name '*.lock')" ]; }

fuzzes() { grep -qsx "$1" "$STATE/last_run_commit"; } # the file appears with the first run

# Moves the work tree to a file system of its own: other programs write to /tmp meanwhile.
own_disk() {
	mkdir "$WORK/small"
	mount -t tmpfs -o size=3g,mode=0755 none "$WORK/small"
	mv "$WORK/tree" "$WORK/small/tree"
	ln -s small/tree "$WORK/tree"
}

# bats test_tags=slow
@test "a delta bomb ends git at its memory limit; the run continues, and the next push is fuzzed" {
	limits '{"memory": "64MiB"}' 600
	TARGET=healthy_fuzzer
	"$FUZZCELL" trigger --state-dir "$STATE" --loop 5s >"$WORK/said" 2>&1 3>&- &
	PID=$!
	wait_until 120 fuzzing_began
	delta_bomb
	wait_until 120 grep -q 'git fetch: git passed its memory limit of 64MiB (git.memory)' "$WORK/said"
	cell_runs
	wait_until 60 clean_objects # it fetches again and again
	[ "$(git -C "$WORK/tree" rev-parse HEAD origin/main | sort -u)" = "$GOOD" ]
	limits '{"memory": "64MiB"}' 1
	git -C "$WORK/dev" reset -q --hard "$GOOD"
	echo two >"$WORK/dev/code"
	git -C "$WORK/dev" commit -qam mended
	git -C "$WORK/dev" push -qf origin HEAD:main
	wait_until 120 fuzzes "$(git -C "$WORK/dev" rev-parse HEAD)"
	kill "$PID"
	wait "$PID"
}

# bats test_tags=slow
@test "a large plain file needs little memory" {
	head -c 100663296 /dev/zero >"$WORK/dev/zeros"
	pushed
	git -C "$WORK/up.git" config core.bigFileThreshold 1m # its git runs in the same group here
	limits '{"memory": "64MiB"}'
	trigger
	[ "$status" -eq 0 ]
	fuzzes "$(git -C "$WORK/dev" rev-parse HEAD)"
}

# bats test_tags=slow
@test "a file that fills the disk ends git, and the work tree is as it was" {
	own_disk
	yes | head -c 209715200 >"$WORK/dev/many" # git makes holes of zeros
	echo two >"$WORK/dev/code"
	pushed
	limits '{"disk": "64MiB"}'
	trigger
	[ "$status" -eq 2 ]
	[[ $output == *"cannot be fuzzed: git merge: git passed its disk limit of 64MiB (git.disk): the file system of '"* ]]
	[ "$(git -C "$WORK/tree" rev-parse HEAD)" = "$GOOD" ]
	[ "$(cat "$WORK/tree/code")" = one ]
	clean_objects
}

@test "objects that fill the disk end git, and are removed" {
	own_disk
	head -c 25165824 /dev/urandom >"$WORK/dev/noise"
	pushed
	limits '{"disk": "8MiB"}'
	trigger
	[ "$status" -eq 2 ]
	# On a loaded machine the fetch may be done before the limit is checked.
	[[ $output == *"git passed its disk limit of 8MiB (git.disk): the file system of '"* ]]
	clean_objects
	[ "$(du -sk "$WORK/tree/.git/" | cut -f 1)" -lt 2000 ]
}

@test "git that starts too many processes ends at its limit" {
	limits '{"pids": 16}'
	git -C "$WORK/tree" config core.sshCommand \
		"sh -c 'for i in \$(seq 40); do sleep 100.5 & done; wait'"
	git -C "$WORK/tree" remote set-url origin ssh://nowhere/up.git
	trigger
	[ "$status" -eq 2 ]
	[[ $output == *"git passed its limit of 16 processes (git.pids)"* ]]
	wait_until 60 nothing_left
	run ! pgrep -f 'sleep 100.5'
}
