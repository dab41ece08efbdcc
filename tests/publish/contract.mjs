// SPDX-License-Identifier: Apache-2.0
// Every kind of request that we send, checked against GitHub's own description of its API: prism
// gets each request that was sent to our server, and validates it.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal } from './harness.mjs';
import { asApp, closed, given } from './stories.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const wanted = readFileSync(join(here, 'package.json'), 'utf8');

function install(dir) {
  if (existsSync(join(dir, 'installed')) && readFileSync(join(dir, 'installed'), 'utf8') === wanted) return;
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), wanted);
  const r = spawnSync('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'],
    { cwd: dir, encoding: 'utf8', timeout: 400_000 });
  if (r.status !== 0) throw new Error(`npm install: ${r.stderr}`);
  writeFileSync(join(dir, 'installed'), wanted);
}

const used = [
  '/user', '/app', '/app/installations/{installation_id}/access_tokens', '/repos/{owner}/{repo}/issues',
  '/repos/{owner}/{repo}/issues/{issue_number}', '/repos/{owner}/{repo}/issues/{issue_number}/comments',
  '/repos/{owner}/{repo}/contents/{path}', '/repos/{owner}/{repo}/git/ref/{ref}', '/repos/{owner}/{repo}/git/refs',
  '/repos/{owner}/{repo}/git/trees', '/repos/{owner}/{repo}/git/commits',
];

// prism accepts everything for a schema that its validator cannot read, such as "nullable" beside
// "oneOf".  We send no null, so the description without "nullable" is stricter.
function readable(v) {
  if (!v || typeof v !== 'object') return;
  if (v.nullable === true && v.type === undefined) delete v.nullable;
  Object.values(v).forEach(readable);
}

// The part of the description's 13 MiB that these paths need: prism reads it in a second.
function cut(api) {
  const out = { ...api, paths: {}, components: {} };
  const follow = (v) => {
    if (!v || typeof v !== 'object') return;
    if (typeof v.$ref === 'string') {
      const [, , kind, name] = v.$ref.split('/');
      out.components[kind] ??= {};
      if (!(name in out.components[kind])) {
        out.components[kind][name] = api.components[kind][name];
        follow(api.components[kind][name]);
      }
    }
    Object.values(v).forEach(follow);
  };
  for (const p of used) {
    out.paths[p] = api.paths[p];
    follow(api.paths[p]);
  }
  delete out['x-webhooks'];
  readable(out);
  return out;
}

// A port that is free now.
const free = () => new Promise((done, fail) => {
  const s = createServer().on('error', fail).listen(0, '127.0.0.1', () => {
    const { port } = s.address();
    s.close(() => done(port));
  });
});

async function start(dir, port) {
  const modules = join(dir, 'node_modules');
  const api = JSON.parse(readFileSync(join(modules, '@octokit/openapi/generated/api.github.com.json'), 'utf8'));
  writeFileSync(join(dir, 'api.json'), JSON.stringify(cut(api)));
  const child = spawn(process.execPath, [join(modules, '@stoplight/prism-cli/dist/index.js'), 'mock', '-m', 'false',
    '-h', '127.0.0.1', '-p', String(port), join(dir, 'api.json')], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  await new Promise((done, fail) => {
    const take = (d) => {
      output += d;
      if (/is listening/.test(output)) done();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('exit', () => fail(new Error(`prism: ${output}`)));
    setTimeout(() => fail(new Error(`prism does not start: ${output}`)), 120_000).unref();
  }).catch((e) => { child.kill(); throw e; });
  return child;
}

// At GitHub "{path}" and "{ref}" may have slashes, which OpenAPI cannot express.
const one = (path) => path.replace(/(\/contents\/|\/git\/ref\/)(.+)$/, (_, a, b) => a + encodeURIComponent(decodeURIComponent(b)));

async function verdict(prism, r) {
  // The description lists the answer as application/json, but its text asks for the other type.
  const headers = { ...r.headers, accept: 'application/json' };
  for (const h of ['host', 'content-length', 'connection', 'expect', 'transfer-encoding']) delete headers[h];
  const a = await fetch(prism + one(r.path) + r.search, { method: r.method, headers, body: r.body || undefined });
  const text = await a.text();
  // The description's own examples violate it, too.
  const violations = JSON.parse(a.headers.get('sl-violations') ?? '[]').filter((v) => v.location[0] === 'request');
  return { status: a.status, violations, text: text.slice(0, 500) };
}

// All kinds of request that we send.
async function everything(bench) {
  const raw = [];
  const upload = { path: 'crashes/x/minimized', bytes: 5000 };
  const go = async (events, options) => {
    await bench.drive(events, options);
    raw.push(...bench.server.raw);
  };
  bench.fresh();
  await go([bench.event('new', { upload }), bench.event('fixed'), bench.event('again')], ['--branch', 'fuzzing/inputs']);
  bench.fresh();
  given(bench, closed(bench));
  await go([bench.event('regressed')], []);
  bench.fresh();
  const options = asApp(bench);
  await go([bench.event('new')], options);
  bench.fresh();
  await go([bench.event('new')], []);
  bench.server.ahead += 3_600_000;
  bench.server.raw = [];
  await go([bench.event('new', { signature: 'ffffffffffffffff' })], []); // since=
  return raw;
}

export async function contract(test, bench, dir) {
  let prism;
  let child;
  await test('GitHub\'s own description of its API is here', async () => {
    install(join(dir, 'npm'));
    for (let tries = 1; !child; tries += 1) {
      const port = await free();
      prism = `http://127.0.0.1:${port}`;
      child = await start(join(dir, 'npm'), port).catch((e) => { // another process took the port
        if (tries === 5 || !/EADDRINUSE/.test(e.message)) throw e;
      });
    }
  });
  if (!child) return;
  try {
    await test('prism refuses invalid requests', async () => {
      const bad = { method: 'POST', path: '/repos/o/r/issues', search: '', headers: { authorization: 'Bearer x', 'content-type': 'application/json' }, body: '{"body": "no title"}' };
      equal((await verdict(prism, bad)).status, 422, 'status of an issue without a title');
      equal((await verdict(prism, { ...bad, path: '/repos/o/r/issue' })).status, 404, 'status of an unknown path');
    });
    const kinds = new Set();
    for (const r of await everything(bench)) {
      const kind = `${r.method} ${r.path.replace(/\d+/g, 'N').replace(/contents\/.*/, 'contents/...')}${r.search.replace(/=[^&]*/g, '=')}`;
      if (kinds.has(kind)) continue;
      kinds.add(kind);
      await test(`prism accepts ${kind}`, async () => {
        const v = await verdict(prism, r);
        if (v.status >= 300 || v.violations.length > 0) throw new Error(JSON.stringify(v));
        if (r.body) // proves that prism validates this kind of request
          equal((await verdict(prism, { ...r, body: '[]' })).status, 422, 'status of a list as the body');
      });
    }
    await test('every kind of request was checked', async () => { equal(kinds.size, 16, [...kinds].join('\n')); });
  } finally {
    child.kill();
  }
}
