# SPDX-License-Identifier: Apache-2.0
# docker/health.sh, as far as it needs no container: it reads the arguments of the first process,
# and the place of its state directory.
load lib

setup() {
	e2e_setup
	mkdir "$WORK/home" "$WORK/bin"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	chmod 0700 "$STATE"
}

teardown() {
	! mountpoint -q "$WORK/full" || umount "$WORK/full"
	e2e_teardown
}

health() { # WORD... of the first process
	printf '%s\0' /sbin/docker-init -- /usr/local/lib/fuzzcell/entrypoint.sh "$@" >"$WORK/cmdline"
	run env -u FUZZCELL_STATE_DIR HOME="$WORK/home" PATH="$WORK/bin:$PATH" \
		"$BATS_TEST_DIRNAME/../../docker/health.sh" "$WORK/cmdline"
	echo "$output"
}

configured() { # FILE STATE
	printf '{"state_dir": "%s"}' "$2" >"$1"
}

@test "healthy: the configuration is valid, and the state directory is where it says" {
	configured "$WORK/a.json" "$WORK/a"
	configured "$WORK/b with a blank.json" "$WORK/b"
	health trigger --loop 30m --config "$WORK/a.json" --config="$WORK/b with a blank.json"
	[ "$status" -eq 0 ]
	[ -d "$WORK/a" ]
	[ -d "$WORK/b" ]
	[ ! -e "$WORK/a/.health" ]
	[ -z "$(ls -A "$WORK/home")" ]
}

@test "not healthy with a missing or invalid configuration, or with one invalid of two" {
	health trigger --config "$WORK/none.json"
	[ "$status" -ne 0 ]
	echo '{"state_dir": 1}' >"$WORK/bad.json"
	health trigger --config "$WORK/bad.json"
	[ "$status" -ne 0 ]
	configured "$WORK/a.json" "$WORK/a"
	health trigger --config "$WORK/bad.json" --config "$WORK/a.json"
	[ "$status" -ne 0 ]
}

@test "not healthy with a state directory that cannot be written" {
	mkdir "$WORK/full"
	mount -t tmpfs -o size=64k none "$WORK/full"
	configured "$WORK/a.json" "$WORK/full"
	health trigger --config "$WORK/a.json"
	[ "$status" -eq 0 ]
	dd if=/dev/zero of="$WORK/full/all" 2>/dev/null || true
	health trigger --config "$WORK/a.json"
	[ "$status" -ne 0 ]
}

@test "without a configuration the state directory is the default or --state-dir" {
	health run --state-dir "$STATE" --targets x
	[ "$status" -eq 0 ]
	[ -z "$(ls -A "$WORK/home")" ]
	health run --targets x
	[ "$status" -eq 0 ]
	[ -d "$WORK/home/.fuzzcell" ]
}
