# SPDX-License-Identifier: Apache-2.0
# Prometheus and Grafana: /metrics of a real run, the alert rules, and the Grafana dashboard.
load lib

DOCS=$BATS_TEST_DIRNAME/../../docs
ASK=$BATS_TEST_DIRNAME/../../docker/dashboard-health.sh

setup() {
	e2e_setup
	cp "$FUZZCELL" "$WORK/fuzzcell" # where the user nobody may read it
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$TARGETS/uaf_fuzzer" "$TARGETS/startcrash_fuzzer" "$WORK/out"
	config '"minimize_time": "off", "merge_time": "off", "max_crashes": 1'
}

teardown() {
	if [ -n "${SERVER:-}" ]; then
		kill "$SERVER" 2>/dev/null || true
		wait "$SERVER" || true
	fi
	e2e_teardown
}

# As the service of compose.yaml runs: as the user nobody, in the group that may read the state.
serve() {
	setpriv --reuid 65534 --regid 0 --clear-groups --bounding-set -all --inh-caps -all \
		"$WORK/fuzzcell" serve --state-dir "$STATE" --listen 0 >"$WORK/served" 2>&1 3>&- &
	SERVER=$!
	wait_until 60 grep -q '^http://' "$WORK/served"
	PORT=$(sed -n 's|^http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$WORK/served")
}

metrics() {
	timeout 60 "$ASK" "$PORT" /metrics >"$WORK/metrics"
}

accepted() {
	promtool check metrics <"$WORK/metrics" >"$WORK/said" 2>&1 && [ ! -s "$WORK/said" ] && return
	cat "$WORK/said" "$WORK/metrics"
	return 1
}

runs_now() {
	metrics && grep -qx 'fuzzcell_run_active 1' "$WORK/metrics"
}

# Prints the names of the metrics in a file.
named() {
	grep -ohE '\bfuzzcell_[a-z_]+' "$1" | sort -u
}

known() {
	sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$WORK/metrics" | sort -u
}

# bats test_tags=slow
@test "promtool accepts /metrics before, during and after a run, with all metrics of the rules and panels" {
	serve
	metrics
	accepted
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/out" \
		--max-fuzzer-time "$((6 * TIMES))s" >"$WORK/log" 2>&1 3>&- &
	PID=$!
	wait_until 120 runs_now
	accepted
	wait "$PID" || true
	PID=
	# A round of which one shard has given something.
	printf '{"plan": "0123456789abcdef", "round": 1, "shards": 2, "shard": 1, "node": "n1", "until": 1, "due": 4000000000}\n' \
		>"$STATE/stats/fleet.jsonl"
	metrics
	accepted
	cat "$WORK/metrics"
	grep -qx 'fuzzcell_round_shards 2' "$WORK/metrics"
	grep -qx 'fuzzcell_round_shards_ended 0' "$WORK/metrics"
	grep -qx 'fuzzcell_up 1' "$WORK/metrics"
	grep -qx 'fuzzcell_run_active 0' "$WORK/metrics"
	grep -qx 'fuzzcell_runs_total 1' "$WORK/metrics"
	grep -q '^fuzzcell_target_executions_total{target="healthy_fuzzer"} [1-9]' "$WORK/metrics"
	grep -q '^fuzzcell_target_failures_total{target="uaf_fuzzer",kind="[a-z_-]*"} [1-9]' "$WORK/metrics"
	grep -qx 'fuzzcell_target_health{target="startcrash_fuzzer",severity="error",code="startup-crash"} 1' "$WORK/metrics"
	grep -qx 'fuzzcell_crashes{state="new"} [1-9]' "$WORK/metrics"
	known >"$WORK/known"
	for file in alerts.yml grafana.json operations.md; do
		named "$DOCS/$file" | comm -23 - "$WORK/known" >"$WORK/unknown"
		echo "$file asks for what is not there: $(cat "$WORK/unknown")"
		[ ! -s "$WORK/unknown" ]
	done
	named "$DOCS/operations.md" | comm -13 - "$WORK/known" >"$WORK/unknown"
	echo "operations.md lacks: $(cat "$WORK/unknown")"
	[ ! -s "$WORK/unknown" ]
}

# bats test_tags=slow
@test "the alert rules are valid, have a summary, a description and advice, and fire when they should" {
	promtool check rules --lint=all --lint-fatal "$DOCS/alerts.yml"
	promtool test rules "$BATS_TEST_DIRNAME/../metrics/alerts.test.yml"
	for word in alert: 'labels: {severity: ' summary: description: advice:; do
		echo "$word"
		[ "$(grep -cF "$word" "$DOCS/alerts.yml")" -eq "$(grep -c -- '- alert:' "$DOCS/alerts.yml")" ]
	done
}

@test "Prometheus accepts every query of the Grafana dashboard" {
	jq -r '.. | .expr? // empty' "$DOCS/grafana.json" >"$WORK/questions"
	[ "$(wc -l <"$WORK/questions")" -ge 20 ]
	sed -i 's/\$__rate_interval/5m/g' "$WORK/questions"
	jq -Rn '{groups: [{name: "g", rules: [inputs | {record: "x:y", labels: {n: input_line_number | tostring}, expr: .}]}]}' \
		"$WORK/questions" >"$WORK/rules.yml"
	promtool check rules --lint=none "$WORK/rules.yml"
	# Each panel has its own place and its own name.
	[ "$(jq '[.panels[].id] | length == (unique | length)' "$DOCS/grafana.json")" = true ]
	[ "$(jq -r '[.panels[].datasource // empty | .uid] | unique | join(" ")' "$DOCS/grafana.json")" = '${DS_PROMETHEUS}' ]
}

@test "the dashboard is not healthy when it cannot read the state" {
	serve
	timeout 60 "$ASK" "$PORT"
	chmod 700 "$STATE"
	wait_until 60 unhealthy
	chmod 755 "$STATE"
	wait_until 60 "$ASK" "$PORT"
}

unhealthy() {
	! timeout 60 "$ASK" "$PORT"
}
