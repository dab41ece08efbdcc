# SPDX-License-Identifier: Apache-2.0
# The dashboard of a real run's state: the server and the export give the same bytes, and no
# client, whatever it does, keeps others out.
load lib

setup() { e2e_setup; }

teardown() {
	[ -z "${SERVER:-}" ] || kill -9 "$SERVER" 2>/dev/null || true
	[ -z "${CLIENT:-}" ] || kill -9 "$CLIENT" 2>/dev/null || true
	e2e_teardown
}

# One run of a healthy target and of a crashing target.
a_run() {
	mkdir -p "$WORK/seeds/deep"
	printf UA1 >"$WORK/seeds/deep/known"
	config '"merge_time": "off", "minimize_time": "off", "plateau": "none", "seeds": ["'"$WORK/seeds"'"]'
	queue uaf_fuzzer crash UA1 # a crash is found, also without CPU time
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" \
		--filter '[hu]*a[lf]*_fuzzer' --max-fuzzer-time "$((4 * TIMES))s"
	echo "$output"
	LOGS=$(last_logs)
	RUN=$(basename "$LOGS")
	# The crashing target may be given up.
	[ "$status" -eq 0 ] || [ "$(jq .not_fuzzed "$LOGS/summary.json")" -eq 0 ]
}

serve() { # OPTION...
	"$FUZZCELL" serve --listen 0 --state-dir "$STATE" "$@" >"$WORK/served" 2>&1 3>&- &
	SERVER=$!
	wait_until 30 grep -q ' shows ' "$WORK/served"
	URL=$(sed -n 's/ shows .*//p' "$WORK/served")
	PORT=${URL##*:} PORT=${PORT%/}
}

served_ends() { # stops the server by SIGTERM; its status must be 0
	kill -TERM "$SERVER"
	wait "$SERVER"
	SERVER=
}

descriptors() { find "/proc/$SERVER/fd" -mindepth 1 | wc -l; }

peak() { awk '/^VmHWM/ { print $2 }' "/proc/$SERVER/status"; }

ok() { # PATH
	[ "$(curl -s -m 30 -o /dev/null -w '%{http_code}' "$URL$1")" = 200 ]
}

# Removes values that change from moment to moment.
steady() { grep -v '^fuzzcell_\(disk_free_bytes\|outbox_oldest_seconds\) '; }

# bats test_tags=slow
@test "a real run: the server's pages equal the export, and have no other data" {
	a_run
	mkdir "$WORK/web"
	run "$FUZZCELL" serve --export "$WORK/web/site" --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	serve
	n=0
	while IFS= read -r file; do
		[ "$file" != .fuzzcell-export ] || continue
		curl -s -m 30 -f -o "$WORK/got" "$URL$(jq -nr --arg f "$file" '$f | split("/") | map(@uri) | join("/")')"
		cmp <(steady <"$WORK/got") <(steady <"$WORK/web/site/$file")
		n=$((n + 1))
	done < <(cd "$WORK/web/site" && find . -type f | sed 's|^\./||')
	[ "$n" -ge 25 ]
	curl -s -f "$URL" | cmp - "$WORK/web/site/index.html"

	# The pages show the run's results.
	curl -s -f "${URL}api/v1/overview.json" >"$WORK/o.json"
	jq -e --arg run "$RUN" '.runs[0].run == $run and .targets_total == 2 and .live == null and
		.crashes_total >= 1 and (.targets | map(.name) | index("healthy_fuzzer")) != null' "$WORK/o.json"
	jq -e '.columns[0] == "t" and (.points | length) > 0' <(curl -s -f "${URL}api/v1/series/healthy_fuzzer.json")
	jq -e '.points | length == 1' <(curl -s -f "${URL}api/v1/growth/healthy_fuzzer.json")
	crash=$(jq -r '.crashes[0].api' "$WORK/o.json")
	jq -e '.report | test("ERROR: ")' <(curl -s -f "$URL$crash")
	jq -e '.seed | endswith("/seeds/deep/known")' <(curl -s -f "$URL$crash")
	jq -e '(.place.file | endswith("uaf_fuzzer.c")) and .place.line > 10' <(curl -s -f "$URL$crash")
	curl -s -f "${URL}metrics" | grep -q '^fuzzcell_target_executions_total{target="healthy_fuzzer"} [1-9]'
	[ "$(curl -s -f "${URL}healthz")" = ok ]

	# Each link of each page leads to a page.
	while IFS= read -r page; do
		grep -o 'href="[^"#]*"' "$WORK/web/site/$page" | sed 's/^href="//; s/"$//' | sort -u |
			while IFS= read -r link; do
				case $link in http:* | https:*) continue ;; esac
				echo "$page: $link"
				[ "$(curl -s -o /dev/null -w '%{http_code}' "$URL$(dirname "$page")/$link")" = 200 ]
			done
	done < <(cd "$WORK/web/site" && find . -name '*.html' | sed 's|^\./||')

	# A second export replaces the whole old one.
	echo old >"$WORK/web/site/old"
	"$FUZZCELL" serve --export "$WORK/web/site" --state-dir "$STATE"
	[ ! -e "$WORK/web/site/old" ]
	[ "$(ls -A "$WORK/web")" = site ]
	run "$FUZZCELL" serve --export "$WORK" --state-dir "$STATE"
	[ "$status" -eq 2 ]
	[[ $output == *'is not an export'* ]]

	# The crash is security-relevant: its files are not served without --downloads all.
	[ "$(jq '.crashes[0].security' "$WORK/o.json")" = true ]
	name=$(basename "$crash" .json)
	[ "$(curl -s -o "$WORK/got" -w '%{http_code}' "${URL}downloads/$name/input.bin")" = 403 ]
	grep 'security-relevant' "$WORK/got"
	[ ! -e "$WORK/web/site/downloads" ]
	served_ends
	serve --downloads all
	input=$(curl -s -f "$URL$crash" | jq -r .crash.crash_file)
	curl -s -f -D "$WORK/h" -o "$WORK/got" "${URL}downloads/$name/input.bin"
	cmp "$WORK/got" "$STATE/$input"
	grep -qi "^content-disposition: attachment; filename=\"crash-$name-input.bin\"" "$WORK/h"
	grep -qi '^content-type: application/octet-stream' "$WORK/h"
	grep -qi '^x-content-type-options: nosniff' "$WORK/h"
	grep -qi "^content-security-policy: default-src 'none'" "$WORK/h"
	curl -s -f "${URL}downloads/$name/report.txt" | cmp - "$STATE/$(dirname "$input")/report.txt"
	curl -s -f -I "${URL}downloads/$name/input.bin" | grep -qi '^content-length: '
	curl -s -f "${URL}crashes/$name.html" | grep -q "href=\"../downloads/$name/input.bin\" download"
	# The command that the page copies works as it stands, from anywhere.
	command=$(curl -s -f "$URL$crash" | jq -r .reproduce)
	echo "$command"
	ln -s "$FUZZCELL" "$WORK/web/fuzzcell"
	(cd / && PATH=$WORK/web:$PATH run env -u FUZZCELL_STATE_DIR timeout $((120 * SLOW)) sh -c "$command"
		echo "$output"
		[ "$status" -eq 0 ])
	served_ends
	# An issue with the full report makes the crash public; "none" applies to all crashes.
	jq '.github.security = "full"' "$STATE/config.json" >"$WORK/full.json"
	serve --config "$WORK/full.json"
	ok "downloads/$name/input.bin"
	served_ends
	jq '.serve.downloads = "none"' "$WORK/full.json" >"$WORK/none.json"
	serve --config "$WORK/none.json"
	[ "$(curl -s -o "$WORK/got" -w '%{http_code}' "${URL}downloads/$name/input.bin")" = 403 ]
	curl -s -f "$URL$crash" | jq -e --arg c "--config $WORK/none.json --state-dir $STATE" \
		'.withheld and .downloads == {} and (.export | contains($c))'
	served_ends
	run "$FUZZCELL" serve --downloads some --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *'--downloads'*'some'* ]]

	# Another user exports below a directory that this user may search but not read.
	mkdir -p "$WORK/theirs" "$WORK/empty"
	install -d -o 1700001 "$WORK/theirs/pub"
	chmod 0711 "$WORK/theirs"
	setpriv --reuid 1700001 --regid 1700001 --clear-groups "$FUZZCELL" serve \
		--export "$WORK/theirs/pub/site" --state-dir "$WORK/empty"
	[ -s "$WORK/theirs/pub/site/index.html" ]
}

@test "headers, methods, names and paths: only valid requests are answered" {
	serve --host fuzz.example.org
	curl -s -D "$WORK/h" -o "$WORK/got" "$URL"
	grep -qi "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" "$WORK/h"
	grep -qi '^x-content-type-options: nosniff' "$WORK/h"
	grep -qi '^referrer-policy: no-referrer' "$WORK/h"
	# HEAD: the same headers, without the body.
	curl -s -I "$URL" >"$WORK/head"
	[ "$(grep -i '^content-length' "$WORK/head")" = "$(grep -i '^content-length' "$WORK/h")" ]
	for method in POST PUT DELETE OPTIONS PATCH TRACE FOO; do
		[ "$(curl -s -o /dev/null -w '%{http_code}' -X "$method" "$URL")" = 405 ]
	done
	# The server does not read the body: its answer can be lost with the connection.
	[[ $(curl -s -o /dev/null -w '%{http_code}' -d @"$FUZZCELL" "$URL") =~ ^(405|000)$ ]]
	for host in evil.example localhost.evil.example '127.0.0.1.evil.example:80' ''; do
		[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $host" "$URL")" = 400 ]
	done
	for host in localhost 127.0.0.1:1 '[::1]' fuzz.example.org FUZZ.example.org:443; do
		[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $host" "$URL")" = 200 ]
	done
	# Two Host headers are invalid; the absolute form of proxies has its own host.
	run timeout 20 bash -c "exec 5<>/dev/tcp/127.0.0.1/$PORT
		printf 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n' >&5
		head -n 1 <&5"
	[[ $output == *' 400 '* ]]
	[ "$(curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x "$URL" http://localhost/metrics)" = 200 ]
	[ "$(curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x "$URL" http://evil.example/metrics)" = 400 ]
	[ "$(curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x "$URL" -H 'Host: localhost' http://evil.example/metrics)" = 400 ]
	echo SECRET >"$STATE/secret"
	for path in ../secret ..%2fsecret %2e%2e/secret targets/..%2f..%2fsecret targets/%00 %00 \
		targets/x%0d%0aInjected:1.html assets/../secret config.json lock; do
		code=$(curl -s --path-as-is -o "$WORK/got" -D "$WORK/h" -w '%{http_code}' "$URL$path")
		echo "$path: $code"
		[ "$code" = 404 ] || [ "$code" = 400 ]
		[ "$(grep -c SECRET "$WORK/got")" = 0 ]
		[ "$(grep -ci '^injected' "$WORK/h")" = 0 ]
	done
	# Headers that are too large, and a request that is no HTTP.
	code=$(curl -s -o /dev/null -w '%{http_code}' -H "X: $(head -c 60000 /dev/zero | tr '\0' a)" "$URL") || true
	[ "$code" -ge 400 ] || [ "$code" = 000 ]
	head -c 100000 /dev/urandom | timeout 20 bash -c "cat >/dev/tcp/127.0.0.1/$PORT" 2>/dev/null || true
	ok ''
	served_ends
}

@test "slow clients and thousands of connections keep no client out, and cost little" {
	serve
	ok ''
	before=$(descriptors)
	cat >"$WORK/crowd.mjs" <<-'END'
		// Thousands of connections: some send nothing, some send slowly, some do not read the answer.
		import net from 'node:net'
		const port = Number(process.argv[2])
		let opened = 0
		function one (i) {
		  const s = net.connect(port, '127.0.0.1', () => {
		    if (++opened === 3000) console.log('all')
		    if (i % 3 === 1) {
		      s.write('GET / HT')
		      setInterval(() => s.writable && s.write('x'), 500).unref()
		    } else if (i % 3 === 2) {
		      s.pause()
		      for (let k = 0; k < 20; k++) s.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
		    }
		  })
		  s.on('error', () => {})
		  // A refused connection is opened again.
		  s.on('close', () => setTimeout(one, 20, i))
		}
		for (let i = 0; i < 600; i++) one(i)
	END
	node "$WORK/crowd.mjs" "$PORT" >"$WORK/crowd" 3>&- &
	CLIENT=$!
	wait_until 120 grep -q all "$WORK/crowd"
	for path in '' metrics healthz api/v1/overview.json; do
		wait_until 60 ok "$path"
	done
	[ "$(descriptors)" -lt $((before + 300)) ]
	kill -9 "$CLIENT"
	wait "$CLIENT" || true
	CLIENT=
	wait_until 60 ok ''
	few() { [ "$(descriptors)" -le $((before + 40)) ]; }
	wait_until 60 few
	echo "peak: $(peak) KiB"
	[ "$(peak)" -lt 100000 ]
	served_ends
}

# bats test_tags=slow
@test "a state directory that cannot be written, by a user without rights" {
	a_run
	mkdir "$WORK/small"
	mount --bind "$STATE" "$WORK/small"
	mount -o remount,bind,ro "$WORK/small"
	cp "$FUZZCELL" "$WORK/fuzzcell"
	chmod 0755 "$WORK/fuzzcell"
	# The server's user may read the state directory through its group.
	chgrp -R 4712 "$STATE"
	chmod -R g+rX "$STATE"
	find "$STATE" -exec stat -c '%n %Y %s' {} + | sort >"$WORK/before"
	setpriv --reuid 4711 --regid 4712 --clear-groups --no-new-privs --bounding-set=-all \
		"$WORK/fuzzcell" serve --listen 0 --state-dir "$WORK/small" >"$WORK/served" 2>&1 3>&- &
	SERVER=$!
	wait_until 30 grep -q ' shows ' "$WORK/served"
	URL=$(sed -n 's/ shows .*//p' "$WORK/served")
	for path in '' crashes.html runs.html rounds.html health.html targets/healthy_fuzzer.html metrics healthz \
		"runs/$RUN.html" api/v1/health.json; do
		ok "$path"
	done
	served_ends
	find "$STATE" -exec stat -c '%n %Y %s' {} + | sort | cmp - "$WORK/before"
	umount "$WORK/small"
}

@test "figures of a living run are current" {
	config '"plateau": "none"'
	fuzz_background healthy_fuzzer 60
	wait_until 60 fuzzing_began
	serve
	living() {
		curl -s -m 10 "${URL}api/v1/overview.json" |
			jq -e '.live.status == "running" and .targets[0].live and .targets[0].execs > 0 and
				.runs[0].live' >/dev/null
	}
	wait_until 60 living
	curl -s "${URL}metrics" | grep -q '^fuzzcell_run_active 1'
	ok "runs/$(basename "$(last_logs)").html"
	ok targets/healthy_fuzzer.html
	kill -INT "$PID"
	wait "$PID" || true
	ended() { curl -s -m 10 "${URL}api/v1/overview.json" | jq -e '.live == null' >/dev/null; }
	wait_until 60 ended
	served_ends
}

@test "a wrong option is reported before any page is served" {
	for at in nowhere 127.0.0.1 example.org:80 127.0.0.1:99999 '[::1]'; do
		run timeout 20 "$FUZZCELL" serve --listen "$at" --state-dir "$STATE"
		echo "$output"
		[ "$status" -eq 2 ]
		[[ $output == *"'$at'"* ]]
	done
	serve
	run timeout 20 "$FUZZCELL" serve --listen "$PORT" --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *'listen on 127.0.0.1'* ]]
	served_ends
	run timeout 20 "$FUZZCELL" serve --listen 0 --host 'a b' --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 2 ]
	serve --listen 0.0.0.0:0
	grep 'every client that can connect' "$WORK/served"
	served_ends
}
