#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make install, and the installed units, as far as they can be tested without systemd as the first
# process.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	ROOT=$BATS_TEST_TMPDIR/root
}

install_in() { # ROOT [VARIABLE=VALUE...]
	make -s B="${B:-build}" install DESTDIR="$1" "${@:2}" >/dev/null
}

# systemd-analyze checks that the programs exist, so the copies of the units name those below ROOT.
units() { # ROOT PREFIX
	local f

	mkdir -p "$BATS_TEST_TMPDIR/units"
	for f in "$1$2"/lib/systemd/system/fuzzcell*; do
		sed "s|$2/bin/|$1&|" "$f" >"$BATS_TEST_TMPDIR/units/${f##*/}"
	done
}

@test "install copies program, man page, example and units, and uninstall removes them" {
	install_in "$ROOT"
	[ -x "$ROOT/usr/local/bin/fuzzcell" ]
	[ -s "$ROOT/usr/local/share/man/man1/fuzzcell.1" ]
	[ -s "$ROOT/usr/local/share/bash-completion/completions/fuzzcell" ]
	for u in fuzzcell.service fuzzcell.timer fuzzcell.slice fuzzcell-serve.service; do
		[ -s "$ROOT/usr/local/lib/systemd/system/$u" ]
	done
	[ "$(stat -c %a "$ROOT/etc/fuzzcell/secrets")" = 700 ]
	echo '{}' >"$ROOT/etc/fuzzcell/config.json"
	make -s B="${B:-build}" uninstall DESTDIR="$ROOT"
	[ "$(find "$ROOT" ! -type d)" = "$ROOT/etc/fuzzcell/config.json" ]
}

@test "another PREFIX is in the units, too; without systemd no units are installed" {
	install_in "$ROOT" PREFIX=/opt/fuzz SYSTEMD_DIR=/etc/systemd/system
	for u in fuzzcell fuzzcell-serve; do
		grep -q '^ExecStart=/opt/fuzz/bin/fuzzcell ' "$ROOT/etc/systemd/system/$u.service"
	done
	# No file is written outside of DESTDIR.
	install_in "$ROOT.3" PREFIX=/srv/it
	[ "$(ls "$ROOT.3")" = srv ]
	grep -q '^ExecStart=/srv/it/bin/fuzzcell ' "$ROOT.3/srv/it/lib/systemd/system/fuzzcell.service"
	[ -d "$ROOT.3/srv/it/etc/fuzzcell/secrets" ]
	install_in "$ROOT.2" SYSTEMD_DIR=
	[ -z "$(find "$ROOT.2" -name 'fuzzcell.service')" ]
}

@test "another SYSCONFDIR is in the units, too" {
	install_in "$ROOT" SYSCONFDIR=/opt/etc
	service=$ROOT/usr/local/lib/systemd/system/fuzzcell.service
	grep -q '^Environment=TRIGGER=--config=/opt/etc/fuzzcell/config.json$' "$service"
	grep -q '^EnvironmentFile=-/opt/etc/default/fuzzcell$' "$service"
	grep -q '^LoadCredential=secret:/opt/etc/fuzzcell/secrets$' "$service"
	grep -q '^InaccessiblePaths=-/opt/etc/fuzzcell/secrets$' "${service/fuzzcell.service/fuzzcell-serve.service}"
	[ -d "$ROOT/opt/etc/fuzzcell/secrets" ]
	run grep -rE '[ =:-]/etc/' "${service%/*}"
	echo "$output"
	[ "$status" -eq 1 ]
}

@test "the service starts without any file of a certain name" {
	run grep -E '^(Condition|Assert)' systemd/fuzzcell.service systemd/fuzzcell.timer systemd/fuzzcell-serve.service
	echo "$output"
	[ "$status" -eq 1 ]
}

@test "systemd accepts the units" {
	install_in "$ROOT"
	units "$ROOT" /usr/local
	run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR"/units/fuzzcell*
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = '' ]
}

@test "the services have no more exposure than necessary" {
	run systemd-analyze security --offline=yes --threshold=75 systemd/fuzzcell.service
	echo "$output" | tail -n 1
	[ "$status" -eq 0 ]
	run systemd-analyze security --offline=yes --threshold=15 systemd/fuzzcell-serve.service
	echo "$output" | tail -n 1
	[ "$status" -eq 0 ]
}

@test "make deps installs the packages of the service on a minimal system" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\n' | tee "$BATS_TEST_TMPDIR/bin/"{dpkg-query,apt-get,apt-cache,sudo} >/dev/null
	chmod +x "$BATS_TEST_TMPDIR"/bin/*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH run ci/deps.sh build
	echo "$output"
	[ "$status" -eq 3 ] # and reports the packages as still missing
	for p in crun git ca-certificates; do
		[[ $output == *'deps: installing '*" $p"* ]]
	done
}

@test "the crontab line of the operations page starts the installed program" {
	local program

	install_in "$ROOT"
	program=$(awk '/^\*\/30 / { print $6 }' docs/operations.md)
	run env -i PATH=/usr/bin:/bin SHELL=/bin/sh /bin/sh -c "$ROOT$program version"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $program == /* ]] # otherwise only ROOT made it an absolute path
}

@test "the example configuration is valid, also before the first build" {
	run "${B:-build}/fuzzcell" config check --config examples/config.json
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'configuration is good'* ]]
	[ -e /srv/fuzz/project/out ] || [[ $output == 'note: /srv/fuzz/project/out is missing: build it first'* ]]
}
