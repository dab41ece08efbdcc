// SPDX-License-Identifier: Apache-2.0
// A server that stands in for GitHub's.  It keeps a model of GitHub (model.mjs), fails as a script
// states, and has a clock that advances only on request.  It records violations by the client: a
// request before it is allowed, two writes within a second, a secret in its command line.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import * as model from './model.mjs';

const R = '/repos/octo/widgets';
const routes = [
  ['GET', /^\/user$/, model.getUser],
  ['GET', /^\/app$/, model.getApp],
  ['POST', /^\/app\/installations\/(\d+)\/access_tokens$/, model.postInstallationToken],
  ['GET', new RegExp(`^${R}/issues$`), model.listIssues],
  ['POST', new RegExp(`^${R}/issues$`), model.openIssue],
  ['GET', new RegExp(`^${R}/issues/(\\d+)$`), model.getIssue],
  ['PATCH', new RegExp(`^${R}/issues/(\\d+)$`), model.patchIssue],
  ['GET', new RegExp(`^${R}/issues/(\\d+)/comments$`), model.listComments],
  ['POST', new RegExp(`^${R}/issues/(\\d+)/comments$`), model.postComment],
  ['GET', new RegExp(`^${R}/git/ref/heads/(.+)$`), model.getRef],
  ['POST', new RegExp(`^${R}/git/trees$`), model.postTree],
  ['POST', new RegExp(`^${R}/git/commits$`), model.postCommit],
  ['POST', new RegExp(`^${R}/git/refs$`), model.postRef],
  ['GET', new RegExp(`^${R}/contents/(.+)$`), model.getFile],
  ['PUT', new RegExp(`^${R}/contents/(.+)$`), model.putFile],
];

export class Server {
  constructor() {
    this.reset();
    this.http = createServer((q, a) => {
      let body = '';
      q.on('data', (d) => { body += d; });
      q.on('end', () => this.take(q, a, body));
      q.on('error', () => {});
    });
    this.http.keepAliveTimeout = 60_000;
  }

  reset() {
    this.model = model.fresh();
    this.ahead = 0; // ms
    this.script = []; // {on: RegExp of "METHOD path", skip, times, ...fault}
    this.seen = []; // "METHOD path" of each request
    this.raw = []; // whole requests, without the authorization
    this.wrong = [];
    this.token = null; // the expected token
    this.secrets = [];
    this.child = null;
    this.not_before = 0;
    this.wrote = 0;
  }

  listen() {
    return new Promise((done) => this.http.listen(0, '127.0.0.1', () => {
      this.origin = `http://127.0.0.1:${this.http.address().port}`;
      done(this.origin);
    }));
  }

  close() {
    this.http.closeAllConnections?.();
    this.http.close();
  }

  now() { return Date.now() + this.ahead; }

  // --- violations by the client ----------------------------------------------------

  watch(method, path) {
    const now = this.now();
    const what = `${method} ${path}`;
    if (now < this.not_before)
      this.wrong.push(`${what}: ${Math.round((this.not_before - now) / 1000)} s before it was let`);
    if (method !== 'GET' && !path.startsWith('/app/')) {
      if (now - this.wrote < 998) // two clocks round to milliseconds
        this.wrong.push(`${what}: ${now - this.wrote} ms after another write`);
      this.wrote = now;
    }
    if (this.child?.pid) {
      try {
        const line = readFileSync(`/proc/${this.child.pid}/cmdline`, 'latin1');
        if (this.secrets.some((s) => line.includes(s))) this.wrong.push(`${what}: a secret in the command line`);
      } catch { /* it is gone */ }
    }
  }

  // null, or the answer to a request without the necessary headers or token.
  refuse(q, path) {
    if (!/^fuzzcell\//.test(q.headers['user-agent'] ?? '') ||
        !/application\/vnd\.github\+json/.test(q.headers.accept ?? '') ||
        q.headers['x-github-api-version'] !== '2022-11-28') {
      this.wrong.push(`${q.method} ${path}: headers`);
      return [400, { message: 'headers' }];
    }
    const shown = (q.headers.authorization ?? '').replace(/^Bearer /, '');
    const app = this.model.app;
    if (app && path.startsWith('/app')) {
      const bad = model.badStatement(this.model, shown, this.now());
      return bad && [401, { message: bad }];
    }
    if (app ? shown !== app.token || this.now() > app.ends : shown !== this.token)
      return [401, { message: 'Bad credentials' }];
    return null;
  }

  perform(q, path, query, body) {
    for (const [method, where, run] of routes) {
      const m = method === q.method && where.exec(decodeURIComponent(path));
      if (m)
        return run({
          model: this.model, parts: m.slice(1), query, path, body: body ? JSON.parse(body) : {},
          now: this.now(), origin: this.shown ?? this.origin,
        });
    }
    return [404, { message: 'Not Found' }];
  }

  // --- faults ------------------------------------------------------------------------

  fault(what) {
    for (const f of this.script) {
      if (!f.on.test(what)) continue;
      if (f.skip > 0) { f.skip -= 1; continue; }
      if (f.times === 0) continue;
      f.times = (f.times ?? 1) - 1;
      return f;
    }
    return null;
  }

  obey(status, headers) {
    const h = headers['retry-after'];
    const reset = headers['x-ratelimit-reset'];
    let wait = 0;
    if (h !== undefined) wait = Number(h) * 1000;
    else if (reset !== undefined) wait = Number(reset) * 1000 - this.now();
    else if (status === 401) wait = 600_000;
    else if (status === 429 || status >= 500) wait = 30_000;
    this.not_before = Math.max(this.not_before, this.now() + wait);
  }

  send(a, status, body, headers = {}, half = false) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    a.writeHead(status, {
      'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text),
      date: new Date(this.now()).toUTCString(), ...headers,
    });
    if (!half) { a.end(text); return; }
    a.write(text.slice(0, text.length / 2), () => setTimeout(() => a.destroy(), 5));
  }

  control(url, a) {
    this.ahead += Number(url.searchParams.get('ms') ?? 0);
    this.send(a, 200, { ahead: this.ahead });
  }

  take(q, a, body) {
    const url = new URL(q.url, 'http://x');
    if (url.pathname === '/__advance') { this.control(url, a); return; }
    // A repository that has moved: the same repository, under its number.
    const moved = /^\/repos\/octo\/old\//.test(url.pathname);
    if (moved) {
      const to = url.pathname.replace('/repos/octo/old/', `${R}/`) + url.search;
      this.send(a, q.method === 'GET' ? 301 : 307, { message: 'Moved Permanently' }, { location: `${this.shown ?? this.origin}${to}` });
      return;
    }
    this.watch(q.method, url.pathname);
    this.seen.push(`${q.method} ${url.pathname}`);
    this.raw.push({ method: q.method, path: url.pathname, search: url.search, headers: q.headers, body });
    this.answer(q, a, url, body);
  }

  answer(q, a, url, body) {
    const f = this.fault(`${q.method} ${url.pathname}`);
    const die = () => { this.child?.kill('SIGKILL'); };
    if (f && !f.done) { // before the request takes effect
      if (f.kill) die();
      if (f.stall) return; // the client gives up
      if (f.close || f.kill) { a.destroy(); return; }
      const headers = f.headers ? f.headers(this.now()) : {};
      this.obey(f.status, headers);
      this.send(a, f.status, f.body ?? { message: f.message ?? 'no' }, headers);
      return;
    }
    const refused = this.refuse(q, url.pathname);
    const [status, out, headers] = refused ?? this.perform(q, url.pathname, url.searchParams, body);
    if (!f) {
      if (refused) this.obey(status, {});
      this.send(a, status, out, headers);
    } else if (f.kill) { die(); a.destroy(); }
    else if (f.stall) return;
    else if (f.close) a.destroy();
    else if (f.half) this.send(a, status, out, headers, true);
    else { this.obey(f.status, {}); this.send(a, f.status, f.body ?? { message: 'Server Error' }); }
  }
}
