// SPDX-License-Identifier: Apache-2.0
// Error answers to every kind of request: in the end there is one issue and one comment, and no
// request came before the server allowed it.
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN, equal, like } from './harness.mjs';
import { asApp, given } from './stories.mjs';

const reset = (now) => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Math.ceil(now / 1000) + 1800) });
const passing = {
  '401': { status: 401, message: 'Bad credentials' },
  '403, limit exhausted': { status: 403, headers: reset, message: 'API rate limit exceeded for user ID 1.' },
  '403, secondary limit': { status: 403, message: 'You have exceeded a secondary rate limit.', headers: () => ({ 'retry-after': '90' }) },
  '429 without a time': { status: 429 },
  '429 until a date': { status: 429, headers: (now) => ({ 'retry-after': '120' }) },
  500: { status: 500 },
  '502, a page of HTML': { status: 502, body: '<html>Unicorn!</html>' },
  '503 with a time': { status: 503, headers: () => ({ 'retry-after': '300' }) },
  'closed without an answer': { close: true },
  'never answered': { stall: true },
  'closed in the middle, done': { half: true, done: true },
  'closed without an answer, done': { close: true, done: true },
  'never answered, done': { stall: true, done: true },
  '502, done': { status: 502, done: true },
  '201 with a text that is no JSON': { status: 201, body: 'ok', done: true },
};

const kinds = {
  'GET user': /^GET \/user$/,
  'GET issues': /^GET .*\/issues$/,
  'POST issues': /^POST .*\/issues$/,
  'GET issue': /^GET .*\/issues\/\d+$/,
  'GET comments': /^GET .*\/comments$/,
  'POST comments': /^POST .*\/comments$/,
  'PATCH issue': /^PATCH /,
};
const uploads = {
  'GET ref': /^GET .*\/git\/ref/,
  'POST trees': /^POST .*\/git\/trees$/,
  'POST refs': /^POST .*\/git\/refs$/,
  'GET contents': /^GET .*\/contents\//,
  'PUT contents': /^PUT .*\/contents\//,
};

// Requests without an answer time out sooner than in other tests.
const soon = (fault) => (fault.stall ? ['--total-ms', '500'] : []);

// A crash is found and fixed, while requests of one kind fail with this fault, twice.
async function once(bench, on, fault, options, upload) {
  bench.fresh();
  bench.server.script = [{ on, ...fault, times: 2 }];
  const r = await bench.drive([bench.event('new', { upload }), bench.event('fixed')], [...options, ...soon(fault)]);
  equal(r.last?.result, 'done', `result (${r.err})`);
  equal(bench.server.model.issues[0]?.state, 'closed', 'state');
  bench.holds({ comments: 1, requests: 40 });
}

async function refusals(test, bench) {
  const on = /^POST .*\/issues$/;
  const cases = [
    [{ status: 403, message: 'Resource not accessible by personal access token' }, /^open an issue: 403: Resource not accessible/],
    [{ status: 404, message: 'Not Found' }, /^open an issue: 404: Not Found \(not there, or the token may not see it\)/],
    [{ status: 410, message: 'Issues are disabled for this repo' }, /^open an issue: 410: Issues are disabled/],
    [{ status: 422, body: { message: 'Validation Failed', errors: [{ resource: 'Label', field: 'name', code: 'invalid' }, 'also\n\u001b[31m this'] } },
      /^open an issue: 422: Validation Failed; name invalid; also\?\?\[31m this$/],
    [{ status: 451, body: 'x' }, /^open an issue: 451: no reason given$/],
    [{ status: 301, headers: () => ({ location: 'https://elsewhere.example/' }) }, /^open an issue: 301: it points to another host, and was not followed$/],
  ];
  for (const [fault, why] of cases) {
    await test(`${fault.status} is a refusal that gives the reason, and holds up nothing else`, async () => {
      bench.fresh();
      bench.server.script = [{ on, ...fault }];
      const r = await bench.drive([bench.event('new', { signature: 'aaaaaaaaaaaaaaaa' }), bench.event('new')]);
      equal(r.tries[0].result, 'refused', 'result');
      like(r.tries[0].why, why, 'why');
      equal(r.last.result, 'done', 'the other');
      bench.holds();
    });
  }
  await test('a missing repository', async () => {
    bench.fresh();
    const r = await bench.drive([bench.event('new', { repository: 'octo/none' })]);
    equal(r.last.result, 'refused', 'result');
    like(r.last.why, /^read the issues: 404/, 'why');
    equal(bench.server.seen.length, 2, 'requests');
  });
  await test('a server that repeats the token', async () => {
    bench.fresh();
    bench.server.script = [{ on, status: 403, message: `no access with ${bench.server.token}` }];
    const r = await bench.drive([bench.event('new')]);
    like(r.last.why, /no access with \*+$/, 'why');
    bench.noSecrets();
  });
}

// Wherever the text is cut, no beginning of the token is left.
async function echoes(test, bench) {
  const parts = (secret) => [...Array(secret.length - 3).keys()].map((n) => secret.slice(0, n + 4));
  const clean = (r, secret) => {
    for (const t of r.tries)
      for (const p of parts(secret)) if (t.why.includes(p)) throw new Error(`"${p}" in ${t.why}`);
  };
  await test('a server that repeats the token where its message is cut', async () => {
    for (let n = 160; n < 200; n += 1) {
      bench.fresh();
      bench.server.script = [{ on: /^GET .user$/, status: 404, message: `${'x'.repeat(n)}${TOKEN}` },
        { on: /^GET .*issues$/, status: 403, message: `${'x'.repeat(n)}${TOKEN}` }];
      clean(await bench.drive([bench.event('new')]), TOKEN);
      bench.noSecrets();
    }
  });
  await test('a server that repeats a part of the token', async () => {
    bench.fresh();
    bench.server.script = [{ on: /^GET .*issues$/, status: 403, message: `you showed ${TOKEN.slice(0, 15)}` }];
    const r = await bench.drive([bench.event('new')]);
    like(r.last.why, /you showed \*{15}$/, 'why');
  });
  await test("a server that repeats an App's statement", async () => {
    bench.fresh();
    const options = asApp(bench);
    const s = bench.server;
    const send = s.send.bind(s);
    s.send = (a, status, body, headers, half) => {
      const last = s.raw.at(-1)?.headers.authorization?.replace('Bearer ', '') ?? '';
      send(a, status, status === 401 || status === 403 ? { message: `${'x'.repeat(150)}${last}` } : body, headers, half);
    };
    s.model.app.id = 1; // another App
    const r = await bench.drive([bench.event('new')], options);
    delete s.send;
    equal(r.tries.length > 0 && r.tries.every((t) => !t.why.includes('eyJh')), true, `a statement in ${r.tries[0].why}`);
  });
  await test('a server that returns URLs with the token in them', async () => {
    bench.fresh();
    const s = bench.server;
    const send = s.send.bind(s);
    s.send = (a, status, body, headers, half) =>
      send(a, status, body?.html_url ? { ...body, html_url: `https://github.example/${TOKEN}` } : body, headers, half);
    const r = await bench.drive([bench.event('new')]);
    delete s.send;
    like(r.last.url, /^https:\/\/github\.example\/\*+$/, 'url');
    bench.noSecrets();
  });
}

async function limits(test, bench) {
  await test('after an error for the whole host, no request is sent for other entries', async () => {
    bench.fresh();
    bench.server.script = [{ on: /^GET .*\/issues$/, status: 403, headers: reset, times: 3 }];
    const events = [...Array(5).keys()].map((i) => bench.event('new', { signature: `${i}`.padStart(16, 'b') }));
    const r = await bench.drive(events);
    equal(r.tries.filter((t) => t.result === 'later').every((t) => t.whole_host && t.wait >= 1700), true, 'waits');
    bench.holds({ issues: 5, requests: 30 });
  });
  await test('a good answer without rate limit left: the next request waits', async () => {
    bench.fresh();
    const s = bench.server;
    const send = s.send.bind(s);
    s.send = (a, status, body, headers = {}, half = false) => {
      const last = status === 201;
      send(a, status, body, last ? { ...headers, ...reset(s.now()) } : headers, half);
      if (last) s.obey(200, reset(s.now()));
    };
    const r = await bench.drive([bench.event('new'), bench.event('fixed')]);
    delete s.send;
    like(r.tries[1].why, /rate limit/, 'why');
    equal(r.last.result, 'done', 'result');
    bench.holds({ comments: 1 });
  });
  await test('a Retry-After of years is cut to a day', async () => {
    bench.fresh();
    bench.server.script = [{ on: /^POST .*\/issues$/, status: 429, headers: () => ({ 'retry-after': '999999999' }) }];
    bench.server.obey = () => {};
    const r = await bench.drive([bench.event('new')]);
    delete bench.server.obey;
    equal(r.tries[0].wait, 86400, 'wait');
    bench.holds();
  });
}

async function tokens(test, bench) {
  await test('a token file that others may read', async () => {
    bench.fresh();
    chmodSync(join(bench.dir, 'token'), 0o644);
    const r = await bench.drive([bench.event('new')]);
    equal(r.tries[0].result, 'later', 'result');
    like(r.tries[0].why, /others may read \(mode 0644\)/, 'why');
    equal(bench.server.seen.length, 0, 'requests');
    bench.noSecrets();
  });
  await test('a missing token: no request is sent, and there is no wait', async () => {
    bench.fresh();
    rmSync(join(bench.dir, 'token'));
    const r = await bench.drive([bench.event('new')]);
    like(r.tries[0].why, /open '.*\/token': No such file/, 'why');
    const { result, wait, whole_host, unasked, refused_token } = r.tries[0];
    equal(`${result} ${wait} ${whole_host} ${unasked} ${refused_token}`, 'later 0 false true 0', 'result');
    equal(bench.server.seen.length, 0, 'requests');
    bench.put('token', `${TOKEN}\n`);
    await bench.drive([bench.event('new')]);
    bench.holds();
  });
  await test('a refused token is named by its hash, so that the next run knows it', async () => {
    bench.fresh();
    bench.put('token', 'ghp_old');
    const old = await bench.drive([bench.event('new')]);
    like(old.tries[0].why, /401/, 'why');
    equal(`${old.tries[0].wait} ${old.tries[0].whole_host} ${old.tries[0].unasked}`, '3600 true false', 'result');
    bench.put('token', 'ghp_other');
    const other = await bench.drive([bench.event('new')]);
    const names = [old, old, other].map((r, i) => r.tries[i % 2].refused_token);
    equal(names[0] > 0 && names[0] === names[1] && names[0] !== names[2], true, `names ${names}`);
  });
  await test('an uninstalled App is tried once an hour', async () => {
    bench.fresh();
    const options = asApp(bench);
    bench.server.model.app.installation = 5;
    const r = await bench.drive([bench.event('new')], options);
    like(r.last.why, /404: Not Found/, 'why');
    equal(r.last.wait, 3600, 'wait');
    equal(bench.server.seen.length, 30, 'requests of as many attempts');
    bench.noSecrets();
  });
  await test('a server without TLS on another machine', async () => {
    bench.fresh();
    bench.server.shown = 'http://192.0.2.1';
    const r = await bench.drive([bench.event('new')]);
    bench.server.shown = undefined;
    like(r.err, /'192\.0\.2\.1' needs TLS/, 'why');
  });
}

export async function answers(test, bench) {
  const upload = { path: 'crashes/x/minimized', bytes: 5000 };
  for (const [name, fault] of Object.entries(passing)) {
    for (const [kind, on] of Object.entries(kinds))
      await test(`${kind}: ${name}`, () => once(bench, on, fault, [], null));
    for (const [kind, on] of Object.entries(uploads))
      await test(`${kind}: ${name}`, () => once(bench, on, fault, ['--branch', 'b'], upload));
    await test(`an App's token: ${name}`, async () => {
      bench.fresh();
      const options = asApp(bench);
      bench.server.script = [{ on: /^POST \/app\/|^GET \/app/, ...fault, times: 2 }];
      if (fault.status === 401) bench.server.obey = () => {}; // tried once more: the clock may be wrong
      const r = await bench.drive([bench.event('new'), bench.event('fixed')], [...options, ...soon(fault)]);
      delete bench.server.obey;
      equal(r.last?.result, 'done', `result (${r.err})`);
      bench.holds({ comments: 1, requests: 40 });
    });
  }
  await refusals(test, bench);
  await echoes(test, bench);
  await limits(test, bench);
  await tokens(test, bench);
}
