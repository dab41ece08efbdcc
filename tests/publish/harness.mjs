// SPDX-License-Identifier: Apache-2.0
// TAP, a directory for each test, and the program that makes deliveries.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const SIG = '0123456789abcdef';
export const TOKEN = 'ghp_PLANTEDsecretPLANTEDsecret';

let count = 0;
let bad = 0;

export async function test(name, run) {
  count += 1;
  try {
    await run();
    console.log(`ok ${count} - ${name}`);
  } catch (e) {
    bad += 1;
    console.log(`not ok ${count} - ${name}`);
    for (const line of String(e?.stack ?? e).split('\n')) console.log(`# ${line}`);
  }
}

export function plan() {
  console.log(`1..${count}`);
  return bad === 0;
}

export class Bench {
  constructor(program, server) {
    this.program = program;
    this.server = server;
    this.dir = mkdtempSync(join(tmpdir(), 'fuzzcell-publish.'));
    this.output = '';
    this.fresh();
  }

  // No notification was sent yet.
  fresh() {
    rmSync(this.dir, { recursive: true });
    mkdirSync(join(this.dir, 'state/crashes/x'), { recursive: true });
    this.put('token', `${TOKEN}\n`, 0o600);
    this.put('state/crashes/x/minimized', Buffer.from([...Array(5000).keys()].map((i) => i % 256)));
    this.output = '';
    this.server.reset();
    this.server.token = TOKEN;
    this.server.secrets = [TOKEN];
  }

  put(name, text, mode = 0o600) {
    writeFileSync(join(this.dir, name), text, { mode });
    return join(this.dir, name);
  }

  // An event as the outbox would keep it.
  event(kind, fields = {}, id = `github-${kind}-${fields.signature ?? SIG}`) {
    const signature = fields.signature ?? SIG;
    const event = {
      event: kind, signature, target: 'png_fuzzer', security: false,
      time: Math.floor(this.server.now() / 1000), commit: 'c'.repeat(40),
      title: kind === 'new' ? `Fuzzing crash: png_fuzzer — Heap-buffer-overflow in f` : '',
      body: kind === 'new' ? `# Crash\n\nReproducer: %REPRODUCER%\n\n<!-- fuzzcell-signature: ${signature} -->\n` : '',
      comment: kind === 'new' ? '' : `It is ${kind}.`, labels: ['fuzzing', 'crash'],
      repository: 'octo/widgets', action: kind === 'new' ? 'none' : 'act', upload: null, payload: null,
      ...fields,
    };
    return this.put(`${id}.json`, JSON.stringify({ id, created: event.time, event }));
  }

  drive(events, options = [], env = {}) {
    const s = this.server;
    s.ahead += 2000; // a new process does not know the time of the last write
    const given = options.includes('--token-env') || options.includes('--app') ? [] : ['--token-file', join(this.dir, 'token')];
    return new Promise((done) => {
      const child = spawn(this.program, ['--api', s.shown ?? s.origin, '--control', s.origin, '--state',
        join(this.dir, 'state'), ...given, ...options, ...events],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env, http_proxy: 'http://127.0.0.1:1' } });
      let out = '';
      let err = '';
      s.child = child;
      child.stdout.on('data', (d) => { out += d; });
      child.stderr.on('data', (d) => { err += d; });
      child.on('close', (code, signal) => {
        s.child = null;
        this.output += out + err;
        const tries = out.split('\n').filter(Boolean).map((l) => JSON.parse(l));
        done({ code, signal, tries, last: tries[tries.length - 1], err });
      });
    });
  }

  // --- invariants at the end -----------------------------------------------------------

  issuesOf(signature) {
    return this.server.model.issues.filter((i) => i.body.includes(`<!-- fuzzcell-signature: ${signature} -->`));
  }

  files(dir = join(this.dir, 'state')) {
    return readdirSync(dir).flatMap((n) => {
      const p = join(dir, n);
      return statSync(p).isDirectory() ? this.files(p) : [p];
    });
  }

  noSecrets() {
    const all = [...this.server.secrets, 'DOWNLOADSECRET', 'PRIVATE KEY'];
    for (const s of all) {
      if (this.output.includes(s)) throw new Error(`a secret was printed: ${this.output}`);
      for (const f of this.files())
        if (readFileSync(f, 'latin1').includes(s)) throw new Error(`a secret in ${f}`);
      for (const i of [...this.server.model.issues, ...this.server.model.comments])
        if (i.body.includes(s)) throw new Error('a secret in an issue');
    }
  }

  // Checks: exactly one issue for each signature, the number of comments, and no unfinished work.
  holds({ issues = 1, comments = 0, requests = 60 } = {}) {
    const s = this.server;
    const of = new Map();
    for (const i of s.model.issues)
      for (const m of i.body.matchAll(/^[ \t]*<!-- fuzzcell-(signature: \w+) -->[ \t\r]*$/gm)) of.set(m[1], (of.get(m[1]) ?? 0) + 1);
    for (const [k, n] of of) if (n !== 1) throw new Error(`${n} issues of ${k}`);
    if (of.size !== issues) throw new Error(`${of.size} issues, not ${issues}: ${this.output}`);
    const written = s.model.comments.filter((c) => c.user.login === s.model.me.login).length;
    if (written !== comments) throw new Error(`${written} comments, not ${comments}: ${this.output}`);
    if (s.wrong.length > 0) throw new Error(s.wrong.join('\n'));
    if (s.seen.length > requests) throw new Error(`${s.seen.length} requests: ${s.seen.join(', ')}`);
    this.noSecrets();
  }

  remove() { rmSync(this.dir, { recursive: true, force: true }); }
}

export function equal(is, want, what) {
  if (is !== want) throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(want)}`);
}

export function like(is, want, what) {
  if (!want.test(is ?? '')) throw new Error(`${what}: ${JSON.stringify(is)} is not like ${want}`);
}
