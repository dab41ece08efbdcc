#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The service as an operator runs it: compose.yaml from a clean clone, a mounted repository, and
# pushes.  ci/docker.sh starts the daemon, and sets WORK, TOP, TARGETS and GROUP.
# The tests build on each other: one service lives through all of them.

bats_require_minimum_version 1.5.0

setup_file() {
	umask 022
	git clone -q "$TOP" "$WORK/clone"
	cp "$TOP/tests/docker/compose.test.yaml" "$WORK/clone/"
	mkdir -p "$WORK/etc" "$WORK/state" "$WORK/srv/out"
	printf '%s' "$SECRET" >"$WORK/token"
	chmod 600 "$WORK/token"
	cp "$TARGETS/healthy_fuzzer" "$TARGETS/membomb_fast_fuzzer" "$WORK/srv/out/"
	repositories
	config 20s
}

teardown_file() {
	cd "$WORK/clone" || return 0
	compose down -t 30 >&2 || true
}

setup() {
	cd "$WORK/clone" || return
}

export SECRET=ghp_secret$((1234567 * 7654321))
export FUZZCELL_CONFIG=$WORK/etc FUZZCELL_STATE=$WORK/state FUZZCELL_REPOSITORIES=$WORK/srv
export FUZZCELL_TOKEN_FILE=$WORK/token FUZZCELL_LOOP=2s FUZZCELL_MEMORY=2g
export GIT_CONFIG_GLOBAL=$WORK/gitconfig GIT_CONFIG_NOSYSTEM=1

compose() {
	docker-compose -f compose.yaml -f compose.test.yaml "$@"
}

# The owner of the work tree is not the user who runs the service.
repositories() {
	git config -f "$GIT_CONFIG_GLOBAL" safe.directory '*'
	git init -q --bare -b main "$WORK/srv/origin.git"
	git clone -q "$WORK/srv/origin.git" "$WORK/push" 2>/dev/null
	git -C "$WORK/push" checkout -q -b main
	push first
	git clone -q "$WORK/srv/origin.git" "$WORK/srv/project"
	chown -R 4321:4321 "$WORK/srv"
}

push() { # MESSAGE
	git -C "$WORK/push" -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$1"
	git -C "$WORK/push" push -q origin main 2>/dev/null
	chown -R 4321:4321 "$WORK/srv/origin.git"
}

head_commit() {
	git -C "$WORK/push" rev-parse HEAD
}

# Renames the complete file into place: the service may be reading it.
config() { # TIME of each target
	cat >"$WORK/etc/config.new" <<-END
		{
		 "state_dir": "/var/lib/fuzzcell",
		 "run": {"workers": 1, "disk_reserve": "64MiB"},
		 "discovery": [{"type": "directory", "path": "$WORK/srv/out"}],
		 "defaults": {"memory": "256MiB", "scratch": "32MiB", "disk": "64MiB", "max_time": "$1",
		              "max_crashes": 2, "minimize_time": "off", "flags": ["-reduce_inputs=0"]},
		 "trigger": {"repository": "$WORK/srv/project", "interval": "1s"}
		}
	END
	mv "$WORK/etc/config.new" "$WORK/etc/config.json"
}

# wait_until SECONDS COMMAND...
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			compose logs --tail 40 >&2
			return 1
		fi
		sleep 0.2
	done
}

container() { # [SERVICE]
	docker ps -q --no-trunc --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
		--filter "label=com.docker.compose.service=${1:-fuzzcell}"
}

done_commit() { # COMMIT
	[ "$(cat "$WORK/state/last_run_commit" 2>/dev/null)" = "$1" ]
}

runs() {
	wc -l <"$WORK/state/stats/run_history.jsonl"
}

# The limit files of living cells that fuzz, below the container's group.  Replay cells (-x) have a
# memory allowance of their own, and builds (-b) have their own limits.
cell_limits() { # memory.max or pids.max
	local v1=memory.limit_in_bytes

	[ "$1" = memory.max ] || v1=$1
	find /sys/fs/cgroup \( -path "*/$GROUP/$(container)/*fuzzcell/*/*/$1" -o \
		-path "*/$GROUP/$(container)/*fuzzcell/*/*/$v1" \) ! -path '*-x[0-9]*' \
		! -path '*-b[0-9]/*' 2>/dev/null
}

# Reads LIMIT (from FILE) and PIDS of a living cell in one pass: the cell may be gone at the next.
# A cell without a process has no limits yet.
look() {
	FILE=$(cell_limits memory.max | head -n 1)
	LIMIT=$(cat "$FILE") && PIDS=$(cat "$(cell_limits pids.max | head -n 1)") &&
		[ -n "$(cat "${FILE%/*}/cgroup.procs")" ]
} 2>/dev/null

# fresh NAME TIME: makes a target without any history the only target.
fresh() {
	rm "$WORK"/srv/out/*
	cp "$TARGETS/healthy_fuzzer" "$WORK/srv/out/$1_fuzzer"
	config "$2"
	compose kill -s HUP fuzzcell
}

# The names (hashes) of the inputs that a living cell has written.  The cell removes none of them
# (-reduce_inputs=0).
working() {
	find "$WORK"/state/work/*/*_fuzzer/corpus -type f -printf '%f\n' 2>/dev/null | sort
}

works_well() {
	[ "$(working | wc -l)" -ge 20 ]
}

# Succeeds if every input of $WORK/before is in the state, wherever a merge has put it.
kept() {
	find "$WORK/state/corpus" "$WORK/state/generations" -type f -printf '%f\n' | sort -u |
		comm -23 "$WORK/before" - >"$WORK/lost"
	cat "$WORK/lost"
	[ ! -s "$WORK/lost" ]
}

healthy() { # [SERVICE]
	[ "$(docker inspect -f '{{.State.Health.Status}}' "$(container "$@")")" = healthy ]
}

label() { # NAME [IMAGE]
	docker inspect -f "{{index .Config.Labels \"org.opencontainers.image.$1\"}}" "${2:-fuzzcell}"
}

# Without a registry the base image is FUZZCELL_BASE, with that image's apt sources.
@test "the image is built from a clean clone, as compose.yaml says" {
	run make image COMPOSE='docker-compose -f compose.yaml -f compose.test.yaml'
	echo "$output" | tail -n 20
	[ "$status" -eq 0 ]
	version=$(sed -n 's/^VERSION := //p' Makefile)
	[ "$(label version)" = "$version" ]
	[ "$(label revision)" = "$(git rev-parse HEAD)" ]
	[ "$(label revision "fuzzcell:$version")" = "$(label revision)" ]
	[ "$(docker inspect -f '{{json .Config.Entrypoint}}' fuzzcell)" = \
		'["/usr/local/lib/fuzzcell/entrypoint.sh"]' ]
	run docker run --rm --network=host fuzzcell version
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "fuzzcell $version" ]
	run -127 docker run --rm --network=host --entrypoint sh fuzzcell -c 'command -v gcc clang make'
	[ "$output" = '' ]
}

@test "without its privileges the service names the missing ones" {
	run docker run --rm --network=host fuzzcell run
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *compose.yaml* ]]
}

@test "up: the checked-out commit is fuzzed, in cells below the container, each with its limit" {
	run compose up -d
	echo "$output"
	[ "$status" -eq 0 ]
	wait_until 240 look
	echo "$FILE: $LIMIT"
	# With v1 controllers the limit is at the mark, 7/8, until memory use passes the mark.
	[ "$LIMIT" -eq $((256 << 20)) ] || [ "$LIMIT" -eq $((224 << 20)) ]
	[ "$PIDS" -eq 65 ] # and process 1
	# and the whole is capped
	whole=${FILE%/"$(container)"/*}/$(container)
	[ "$(cat "$whole/${FILE##*/}")" -eq $((2 << 30)) ]
	wait_until 300 done_commit "$(head_commit)"
	logs=$(find "$WORK/state/logs" -mindepth 1 -maxdepth 1 | sort | tail -n 1)
	cat "$logs"/*.stats
	[ "$(jq -r .reason "$logs/healthy_fuzzer.stats")" = time-limit ]
	[ "$(jq -r '(.failures.oom // 0) + (.failures["oom-kill"] // 0)' "$logs/membomb_fast_fuzzer.stats")" -ge 1 ]
}

@test "the service is healthy; without its configuration the health check fails" {
	wait_until 300 healthy
	mv "$WORK/etc/config.json" "$WORK/etc/away"
	run docker exec "$(container)" /usr/local/lib/fuzzcell/health.sh
	mv "$WORK/etc/away" "$WORK/etc/config.json"
	echo "$output"
	[ "$status" -ne 0 ]
	run docker exec "$(container)" /usr/local/lib/fuzzcell/health.sh
	echo "$output"
	[ "$status" -eq 0 ]
}

page() { # PATH
	docker exec "$(container dashboard)" /usr/local/lib/fuzzcell/dashboard-health.sh 8089 "$1"
}

@test "the dashboard shows the run, and its user may change nothing" {
	wait_until 120 healthy dashboard
	page /metrics >"$WORK/metrics"
	cat "$WORK/metrics"
	grep -qx 'fuzzcell_up 1' "$WORK/metrics"
	grep -q '^fuzzcell_target_executions_total{target="healthy_fuzzer"} [1-9]' "$WORK/metrics"
	grep -q '^fuzzcell_target_health{target="membomb_fast_fuzzer",' "$WORK/metrics"
	page / | grep -q healthy_fuzzer
	page /api/v1/overview.json | jq -e .
	run page /../../etc/passwd
	[ "$status" -ne 0 ]
	id=$(container dashboard)
	[ "$(docker exec "$id" id -u)" = 65534 ]
	[ "$(docker exec "$id" sed -n 's/^CapEff:\t//p' /proc/1/status)" = 0000000000000000 ]
	for place in /var/lib/fuzzcell/x /etc/fuzzcell/x /x /tmp/x /usr/x; do
		run docker exec "$id" touch "$place"
		echo "$output"
		[ "$status" -ne 0 ]
	done
	[ "$(docker inspect -f '{{range .Mounts}}{{.RW}} {{end}}' "$id")" = 'false false ' ]
	# and it has no token
	run docker exec "$id" ls /run/secrets
	[ "$status" -ne 0 ]
}

@test "the dashboard's pages are published on the loopback address only" {
	compose config | awk '/^  [a-z]/ { on = /^  dashboard:/ } on' >"$WORK/dashboard"
	cat "$WORK/dashboard"
	grep -q '127\.0\.0\.1' "$WORK/dashboard"
	run grep -c published "$WORK/dashboard"
	[ "$output" -le 1 ]
}

@test "a dashboard that cannot read the state is not healthy" {
	shown() { docker exec "$(container dashboard)" /usr/local/lib/fuzzcell/dashboard-health.sh; }
	not_shown() { ! shown; }
	chmod 700 "$WORK/state"
	bad=0
	wait_until 60 not_shown || bad=1 # the dashboard caches answers for a second
	chmod 755 "$WORK/state"
	[ "$bad" -eq 0 ]
	wait_until 60 shown
}

@test "a push is fuzzed, and only once" {
	push second
	wait_until 300 done_commit "$(head_commit)"
	n=$(runs)
	sleep 6 # three checks of the trigger
	[ "$(runs)" -eq "$n" ]
	# Files that the service wrote into the work tree belong to the tree's owner.
	[ -z "$(find "$WORK/srv/project" ! -uid 4321 -print -quit)" ]
}

@test "a stopped service saves its inputs, down and up keep them, and the push is fuzzed again" {
	fresh second 300s
	push third
	wait_until 240 works_well
	working >"$WORK/before"
	run compose down
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$(find "$WORK/state/work" -mindepth 1 -print -quit 2>/dev/null)" ]
	[ -z "$(find /sys/fs/cgroup -type d -path "*/$GROUP/*" -path '*fuzzcell/*' -print -quit)" ]
	kept
	run done_commit "$(head_commit)"
	[ "$status" -ne 0 ]
	config 3s
	n=$(runs)
	compose up -d
	wait_until 300 done_commit "$(head_commit)"
	[ "$(runs)" -gt "$n" ]
	[ -e "$WORK/state/known_crashes.json" ]
}

nothing_in_work() {
	[ -z "$(find "$WORK/state/work" -mindepth 1 -print -quit 2>/dev/null)" ]
}

@test "a killed service starts again and loses no input" {
	fresh third 300s
	push fourth
	wait_until 240 works_well
	config 3s
	working >"$WORK/before"
	docker kill -s KILL "$(container)"
	compose up -d
	wait_until 300 done_commit "$(head_commit)"
	wait_until 120 nothing_in_work # the commit is noted first
	kept
}

@test "no secret in the image, the logs, the process list or the state" {
	{
		compose logs
		docker inspect "$(container)" fuzzcell
		docker history --no-trunc fuzzcell
		docker exec "$(container)" sh -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' '
	} >"$WORK/all.log" 2>&1
	# Files appear and disappear during the search.
	run grep -rlsF "$SECRET" "$WORK/all.log" "$WORK/state"
	[ -z "$output" ]
	[ "$(docker exec "$(container)" cat /run/secrets/github-token)" = "$SECRET" ]
	# and in no core file
	[ "$(docker exec "$(container)" cat /proc/1/limits | awk '/^Max core/ { print $5, $6 }')" = '0 0' ]
}
