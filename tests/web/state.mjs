// SPDX-License-Identifier: Apache-2.0
// State directories to show, from real runs and with hostile texts only; and the program that
// shows them.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CONFIG = {
  run: { workers: 1, disk_reserve: '64MiB' },
  defaults: { memory: '256MiB', scratch: '32MiB', disk: '64MiB' },
};
const WANTED = /^(healthy|crash|leak|startcrash)_fuzzer/;

export function config(state) {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, 'config.json'), JSON.stringify(CONFIG));
}

// Copies the targets to a separate directory: the other planted targets may harm the machine.
export function chosen(targets, dir) {
  mkdirSync(dir, { recursive: true });
  for (const name of readdirSync(targets))
    if (WANTED.test(name)) cpSync(join(targets, name), join(dir, name), { recursive: true });
  return dir;
}

const children = new Set();
let over = false;

function run(program, state, targets, seconds, more) {
  if (over) throw new Error('run: the tests are over');
  const child = spawn(program, ['run', '--plain', '--state-dir', state, '--targets', targets, '--max-total-time', `${seconds}s`, ...more],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: (seconds + 300) * 1000 });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (d) => { said += d; });
  const ended = new Promise((done) => {
    child.on('error', (e) => done({ status: e.code, said }));
    child.on('close', (status) => done({ status: child.killed ? 'stopped' : status, said }));
  });
  const one = { ended, end: () => { child.kill('SIGTERM'); return ended; } };
  children.add(one);
  ended.then(() => children.delete(one));
  return one;
}

// Real cells.
export async function fuzz(program, state, targets, seconds, commit) {
  const { status, said } = await run(program, state, targets, seconds, ['--commit', commit]).ended;
  if (status !== 0 && status !== 5) throw new Error(`run: ${status} ${said}`);
}

// Starts a run that lives until end() is called.
export const running = (program, state, targets) => run(program, state, targets, 900, []);

// No run outlives the tests, and none begins after them.
export function endAll() {
  over = true;
  return Promise.all([...children].map((c) => c.end()));
}

// --- hostile ------------------------------------------------------------------------------

export const MARKUP = '<img src=x onerror=alert(1)>';
export const NAME = `evil"'&${MARKUP}`; // a file's name: no slash
export const SIG = '00a1b2c3d4e5f607';
const SCRIPT = '</pre></td></title><script>alert(1)</script><b onmouseover=alert(2)>\u202eeman\u202c\x1b[2J\x07';

const line = (run, ended, extra) => ({
  name: NAME, reason: SCRIPT, fuzzed: true, note: SCRIPT, run, ended, commit: SCRIPT, execs: 1000, execs_per_cpu_second: 10,
  cov: 5, edges: 10, ft: 7, corpus_units: 3, cpu_seconds: 2.5, new_inputs: 1, memory_peak_bytes: 1 << 20,
  memory_limit_bytes: 1 << 28, failures_total: 1, failures: { crash: 1 }, wall_seconds: 3, syscalls_refused: SCRIPT, ...extra,
});

// The files as a run without any checks would have left them.
export function hostile(state) {
  const runs = [['20261120-100000', '2026-11-20T10:00:40Z'], ['20261121-100000', '2026-11-21T10:00:40Z']];
  config(state);
  for (const d of ['stats/targets', `crashes/${SIG}`, ...runs.map(([r]) => `logs/${r}`)])
    mkdirSync(join(state, d), { recursive: true });
  const put = (name, text) => writeFileSync(join(state, name), text);
  const crash = { signature: SIG, what: SCRIPT, state: 'new', count: 1, hits: 1, tries: 1, security: true };
  const summary = (run, ended) => ({
    v: 1, run, status: 'done', version: SCRIPT, commit: SCRIPT, cgroup_layout: SCRIPT, started: ended.replace(':40Z', ':00Z'), ended,
    elapsed_seconds: 40, workers: 1, failures: 1, new_crashes: 1, not_fuzzed: 0, own_cpu_seconds: 1, own_peak_rss_bytes: 1,
    targets: [line(run, ended, { crashes: [crash], artifacts: [SCRIPT] })],
  });
  put('stats/last_fuzzed.json', JSON.stringify({ [NAME]: { fuzzed: 1795255240 } }));
  put('stats/run_history.jsonl', runs.map(([r, e]) => `${JSON.stringify(summary(r, e))}\n`).join(''));
  put(`stats/targets/${NAME}.jsonl`, runs.map(([r, e]) => `${JSON.stringify(line(r, e))}\n`).join(''));
  for (const [r, e] of runs) {
    put(`logs/${r}/summary.json`, JSON.stringify(summary(r, e)));
    put(`logs/${r}/${NAME}.stats`, JSON.stringify(line(r, e)));
    put(`logs/${r}/${NAME}.series`, [
      { v: 1, target: NAME, run: r, started: e, columns: ['t', 'execs', 'cov', 'ft', SCRIPT] },
      ...[0, 1, 2, 3].map((t) => [t, t * 100, 2 + t, 3 + t, t]),
    ].map((j) => `${JSON.stringify(j)}\n`).join(''));
  }
  put('known_crashes.json', JSON.stringify({
    [SIG]: {
      fuzzer: NAME, crash_type: `Heap-buffer-overflow ${SCRIPT}`, top_frame: SCRIPT, frames: [SCRIPT, MARKUP], crash_state: [SCRIPT],
      state: 'new', first_seen: { time: 1795200000, commit: SCRIPT, run: runs[0][0] }, last_seen: { time: 1795255240, commit: SCRIPT, run: runs[1][0] },
      count: 3, issue_url: 'javascript:alert(1)', note: SCRIPT, severity: SCRIPT, security: true, crash_file: `crashes/${SIG}/input`,
    },
  }));
  put(`crashes/${SIG}/report.txt`, `==1==ERROR: AddressSanitizer: ${SCRIPT}\n    #0 0x1 in ${MARKUP}\n${'A'.repeat(3000)}\n`);
}

// --- broad ----------------------------------------------------------------------------------

// Long names and large figures, which a table must have space for.
export function broad(state) {
  const [run, ended, commit] = ['20261122-190000', '2026-11-22T23:30:00Z', '5f0c'.repeat(10)];
  const names = ['css_stylesheet_declaration_parser_fuzzer', 'http2_hpack_decoder_fuzzer', 'tls'];
  const reasons = ['not-instrumented', 'startup-failed', 'run-deadline'];
  const entry = (name, i) => ({
    name, reason: reasons[i], fuzzed: true, run, ended, commit, execs: 91234567, execs_per_cpu_second: 15234, cov: 112812, edges: 1400000,
    ft: 290210, corpus_units: 150123, cpu_seconds: 86000.5, new_inputs: 15230, memory_peak_bytes: 136839168, memory_limit_bytes: 512 << 20,
    failures_total: 1000, failures: { crash: 1000 },
  });
  const summary = {
    v: 1, run, status: 'done', version: '0.1.0', commit, started: '2026-11-22T19:00:00Z', ended, elapsed_seconds: 16200, workers: 2,
    failures: 3000, new_crashes: 3, not_fuzzed: 0, given_up: 0, execs: 273703701, cpu_seconds: 258001.5, new_inputs: 45690,
  };
  config(state);
  for (const d of ['stats/targets', `logs/${run}`]) mkdirSync(join(state, d), { recursive: true });
  const put = (name, json) => writeFileSync(join(state, name), `${JSON.stringify(json)}\n`);
  put('stats/last_fuzzed.json', Object.fromEntries(names.map((n) => [n, { fuzzed: 1795390200 }])));
  put('stats/run_history.jsonl', { ...summary, targets: names.length });
  put(`logs/${run}/summary.json`, { ...summary, targets: names.map(entry) });
  names.forEach((n, i) => put(`stats/targets/${n}.jsonl`, entry(n, i)));
}

// --- the program ------------------------------------------------------------------------------

export class Shown {
  // Resolves when the program listens.
  static start(program, state) {
    const child = spawn(program, ['serve', '--state-dir', state, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    return new Promise((done, fail) => {
      let said = '';
      const hear = (d) => {
        said += d;
        const m = /(http:\/\/\S+?)\/ /.exec(said);
        if (m) done(Object.assign(new Shown(), { child, base: m[1] }));
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.on('exit', (code) => fail(new Error(`serve: ${code} ${said}`)));
    });
  }

  stop() { this.child.kill('SIGTERM'); }
}

export function exported(program, state, dir) {
  const r = spawnSync(program, ['serve', '--state-dir', state, '--export', dir], { encoding: 'utf8', timeout: 120_000 });
  if (r.status !== 0) throw new Error(`export: ${r.status} ${r.stdout}${r.stderr}`);
}

export const text = (file) => readFileSync(file, 'utf8');
