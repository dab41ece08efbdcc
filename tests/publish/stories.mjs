// SPDX-License-Identifier: Apache-2.0
// The notifications to a server without faults.
import { generateKeyPairSync } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SIG, TOKEN, equal, like } from './harness.mjs';
import { addComment, addIssue } from './model.mjs';

const MARK = `<!-- fuzzcell-signature: ${SIG} -->`;
const upload = { path: 'crashes/x/minimized', bytes: 5000 };

export function asApp(bench, { secret = 'ghs_PLANTEDinstallation' } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048, publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const m = bench.server.model;
  m.app = { id: 4711, installation: 99, key: publicKey, secret, token: null, ends: 0 };
  m.me = { login: 'fuzzapp[bot]', type: 'Bot' };
  bench.server.secrets.push(secret);
  return ['--app', '4711', '--installation', '99', '--key', bench.put('key.pem', privateKey)];
}

// An old issue, as fuzzcell files it.
export function given(bench, fields = {}) {
  const s = bench.server;
  return addIssue(s.model, s.now() - 86_400_000, { title: 'Fuzzing crash', body: `# Crash\n\n${MARK}\n`, labels: ['fuzzing'], ...fields });
}

// A body with its reproducer between the marker lines.
export const withInput = (input) =>
  `# Crash\n\n<!-- reproducer -->\n\n${input}\n<!-- end of reproducer -->\n\n${MARK}\n`;

export const closed = (bench, more = {}) => ({
  state: 'closed', state_reason: 'completed', closed_at: new Date(bench.server.now() - 3_600_000).toISOString().replace(/\.\d+/, ''), ...more,
});

export async function stories(test, bench) {
  const story = (name, run) => test(name, async () => { bench.fresh(); await run(bench.server.model); });

  await story('a new crash is an issue, once', async (m) => {
    const r = await bench.drive([bench.event('new')]);
    equal(r.last.result, 'done', 'result');
    like(r.last.url, /\/octo\/widgets\/issues\/1$/, 'url');
    equal(m.issues[0].labels.join(), 'fuzzing,crash', 'labels');
    await bench.drive([bench.event('new')]);
    bench.holds();
  });

  await story('twenty crashes are twenty issues, and the list is read once', async () => {
    const events = [...Array(20).keys()].map((i) => bench.event('new', { signature: `${i}`.padStart(16, 'a') }));
    await bench.drive(events);
    bench.holds({ issues: 20, requests: 25 });
  });

  await story('without ledger, outbox and cache the issue is found by its marker', async (m) => {
    await bench.drive([bench.event('new')]);
    for (let i = 0; i < 250; i += 1) addIssue(m, bench.server.now(), { body: 'noise', user: { login: 'x' } });
    bench.server.ahead += 3_600_000;
    rmSync(join(bench.dir, 'state/outbox'), { recursive: true });
    rmSync(join(bench.dir, `state/progress-github-new-${SIG}.json`));
    const r = await bench.drive([bench.event('new')]);
    equal(r.last.result, 'done', 'result');
    like(r.last.url, /issues\/1$/, 'url');
    bench.holds();
  });

  await story('the marker of an outsider does not stop a crash from being filed', async (m) => {
    const stranger = { login: 'mallory', type: 'User' };
    given(bench, { user: stranger });
    given(bench, { user: stranger, pull_request: {}, author_association: 'OWNER' });
    await bench.drive([bench.event('new')]);
    equal(m.issues.filter((i) => i.user.login === 'fuzzbot').length, 1, 'issues of ours');
  });

  await story('the marker of a member counts, also with CRLF line ends', async (m) => {
    given(bench, { user: { login: 'anna' }, author_association: 'MEMBER', body: `By hand\r\n ${MARK} \r\n` });
    const r = await bench.drive([bench.event('new')]);
    equal(r.last.result, 'done', 'result');
    bench.holds();
    equal(m.issues.length, 1, 'issues');
  });

  await story('a token that may not ask for its own user', async (m) => {
    m.tells_login = false;
    m.me = { login: 'github-actions[bot]', type: 'Bot' };
    await bench.drive([bench.event('new')]);
    bench.server.ahead += 3_600_000;
    rmSync(join(bench.dir, `state/progress-github-new-${SIG}.json`));
    await bench.drive([bench.event('new')]);
    bench.holds();
  });

  await story('a server that names neither the user of the token nor the members', async (m) => {
    m.tells_login = false;
    m.association = undefined;
    await bench.drive([bench.event('new')]);
    bench.server.ahead += 3_600_000;
    rmSync(join(bench.dir, `state/progress-github-new-${SIG}.json`));
    rmSync(join(bench.dir, 'state/outbox'), { recursive: true });
    const r = await bench.drive([bench.event('new')]);
    like(r.last.warning, /neither .*GET \/user.* nor .*author_association/, 'warning');
    bench.holds();
  });

  await story('a token from the environment', async () => {
    await bench.drive([bench.event('new')], ['--token-env', 'PLANTED'], { PLANTED: TOKEN });
    bench.holds();
  });

  await story('an App with a wrong clock and a wrong token at first', async (m) => {
    const options = asApp(bench);
    bench.server.ahead -= 600_000; // we are ten minutes ahead of the server
    bench.server.script = [{ on: /POST .*issues$/, status: 401 }];
    bench.server.obey = () => {};
    const r = await bench.drive([bench.event('new'), bench.event('fixed')], options);
    delete bench.server.obey;
    equal(r.last.result, 'done', 'result');
    equal(m.app.given, 2, 'tokens');
    bench.holds({ comments: 1 });
  });

  await story('the reproducer is uploaded to a new branch', async (m) => {
    const r = await bench.drive([bench.event('new', { upload })], ['--branch', 'fuzzing/inputs']);
    equal(r.last.result, 'done', 'result');
    const [[path, file]] = m.branches.get('fuzzing/inputs');
    like(path, new RegExp(`^repro/${SIG}/[0-9a-f]{16}$`), 'path');
    equal(file.content.length, 5000, 'size');
    like(m.issues[0].body, /Reproducer: \[5000 bytes\]\(https:\/\/github\.example\/.*\)/, 'body');
    bench.holds();
  });

  await story('a repository without a commit gets the issue, without the reproducer', async (m) => {
    m.empty = true;
    await bench.drive([bench.event('new', { upload })], ['--branch', 'b']);
    like(m.issues[0].body, /It is not attached \(409: Git Repository is empty\.\); its path in the state directory is `crashes\/x\/minimized`/, 'body');
    bench.holds();
  });

  await story('seen again: a comment, and reopened; once for each time it was closed', async (m) => {
    const i = given(bench, closed(bench));
    await bench.drive([bench.event('again', {}, 'a1')]);
    equal(`${i.state} ${i.state_reason}`, 'open reopened', 'state');
    await bench.drive([bench.event('again', {}, 'a2')]); // the issue is open
    bench.server.ahead += 86_400_000;
    Object.assign(i, closed(bench));
    await bench.drive([bench.event('again', { action: 'comment' }, 'a3')]);
    bench.server.ahead += 86_400_000;
    await bench.drive([bench.event('again', { action: 'comment' }, 'a4')]);
    equal(i.state, 'closed', 'state');
    bench.holds({ comments: 2 });
  });

  await story('closed as not planned: one comment, not reopened', async () => {
    const i = given(bench, closed(bench, { state_reason: 'not_planned' }));
    await bench.drive([bench.event('again')]);
    equal(i.state, 'closed', 'state');
    bench.holds({ comments: 1 });
  });

  await story('fixed: a comment, and closed as completed', async (m) => {
    given(bench);
    await bench.drive([bench.event('fixed')]);
    equal(`${m.issues[0].state} ${m.issues[0].state_reason}`, 'closed completed', 'state');
    await bench.drive([bench.event('fixed')]);
    bench.holds({ comments: 1 });
    equal(m.issues[0].changes, 1, 'changes');
  });

  await story('a smaller input replaces the old input, and nothing else', async (m) => {
    const i = given(bench, { body: `Assigned to Anna.\r\n${withInput('large')}More.` });
    await bench.drive([bench.event('smaller', { body: withInput('small'), comment: '' })]);
    equal(i.body, `Assigned to Anna.\r\n${withInput('small')}More.`, 'body');
    await bench.drive([bench.event('smaller', { body: withInput('small'), comment: '' }, 'again')]);
    equal(i.edits, 1, 'edits');
    i.body = `Shortened by a user.\n${MARK}\n`;
    await bench.drive([bench.event('smaller', { body: withInput('tiny'), comment: '' }, 'third')]);
    equal(i.edits, 1, 'edits');
    i.deleted = true;
    const r = await bench.drive([bench.event('smaller', { body: withInput('x'), comment: '' }, 'fourth')]);
    equal(r.last.result, 'done', 'result');
    equal(m.issues.length, 1, 'issues');
  });

  await story('label wrong: a fix is not notified', async (m) => {
    given(bench, { labels: ['Wrong'] });
    const r = await bench.drive([bench.event('fixed'), bench.event('regressed', { action: 'comment' })]);
    equal(r.last.result, 'done', 'result');
    equal(m.issues[0].state, 'open', 'state');
    bench.holds({ comments: 1 });
  });

  await story('label ignore: no notification is sent', async () => {
    given(bench, { labels: ['ignore'], ...closed(bench) });
    const r = await bench.drive(['new', 'again', 'regressed', 'fixed'].map((k) => bench.event(k)));
    equal(r.tries.map((t) => `${t.result} ${t.ignored}`).join(), Array(4).fill('done true').join(), 'results');
    bench.holds();
  });

  await story('a comment sent before all state was lost is not sent again; an outsider\'s marker does not count', async (m) => {
    const i = given(bench);
    addComment(m, bench.server.now(), 1, '<!-- fuzzcell-delivery: fixed f -->', { login: 'mallory' }, 'NONE');
    const event = bench.event('fixed', { action: 'comment' }, 'f');
    await bench.drive([event]);
    bench.server.ahead += 60_000;
    rmSync(join(bench.dir, 'state/progress-f.json'));
    await bench.drive([event]);
    equal(i.state, 'open', 'state');
    bench.holds({ comments: 1 });
  });

  await story('a known issue URL saves the search; another repository\'s URL is not trusted', async () => {
    given(bench, { body: 'of an older ledger, without a marker' });
    const event = (url, id) => bench.event('fixed', { action: 'comment', issue_url: url }, id);
    await bench.drive([event('https://github.example/octo/widgets/issues/1', 'a')]);
    equal(bench.server.seen.some((s) => s === 'GET /repos/octo/widgets/issues'), false, 'searched');
    await bench.drive([event('https://github.example/octo/other/issues/1', 'b')]);
    equal(bench.server.model.comments.length, 1, 'comments');
  });

  await story('a deleted issue is not filed again by later notifications', async (m) => {
    await bench.drive([bench.event('new')]);
    m.issues[0].deleted = true;
    await bench.drive([bench.event('new'), bench.event('regressed'), bench.event('fixed')]);
    equal(m.issues.length, 1, 'issues');
  });

  await story('a deleted issue that only the ledger or the record knows is not filed again', async (m) => {
    given(bench, { deleted: true });
    addIssue(m, bench.server.now(), { body: 'noise', user: { login: 'x' } });
    const texts = { title: 'Fuzzing crash', body: MARK, issue_url: 'https://github.example/octo/widgets/issues/1' };
    const r = await bench.drive([bench.event('new', texts, 'n'), bench.event('again', texts, 'a'),
      bench.event('regressed', texts, 'r'), bench.event('fixed', texts, 'f')]);
    equal(r.tries.map((t) => `${t.result} ${t.deleted}`).join(), Array(4).fill('done true').join(), 'results');
    equal(m.issues.length, 2, 'issues');
  });

  await story('deleted, but a user keeps its marker in another issue', async (m) => {
    given(bench, { deleted: true });
    given(bench, { user: { login: 'anna' }, author_association: 'MEMBER' });
    const r = await bench.drive([bench.event('fixed', { issue_url: 'https://github.example/octo/widgets/issues/1' })]);
    equal(`${r.last.result} ${r.last.deleted} ${m.issues[1].state}`, 'done false closed', 'result');
  });

  await story('an inaccessible repository does not count as a deleted issue', async () => {
    const r = await bench.drive([bench.event('again', { repository: 'octo/none', title: 't', body: MARK, issue_url: 'https://github.example/octo/none/issues/1' })]);
    equal(`${r.last.result} ${r.last.deleted}`, 'refused false', 'result');
  });

  await story('a comment on an unknown issue files the issue instead', async (m) => {
    const r = await bench.drive([bench.event('again', { title: 'Fuzzing crash', body: MARK })]);
    equal(`${r.last.result} ${r.last.deleted} ${m.issues.length}`, 'done false 1', 'result');
    bench.holds();
  });

  await story('a repository that moved', async () => {
    await bench.drive([bench.event('new', { repository: 'octo/old' }), bench.event('fixed', { repository: 'octo/old' })]);
    equal(bench.server.model.issues[0]?.state, 'closed', 'state');
    bench.holds({ comments: 1 });
    const url = 'https://github.example/octo/old/issues/1'; // as an older ledger has it
    const r = await bench.drive([bench.event('regressed', { repository: 'octo/old', issue_url: url })]);
    equal(`${r.last.result} ${r.last.deleted} ${bench.server.model.issues[0].state}`, 'done false open', 'again');
  });

  await story('an API URL with a slash at its end', async () => {
    bench.server.shown = `${bench.server.origin}/`;
    await bench.drive([bench.event('new')]);
    bench.server.shown = undefined;
    bench.holds();
  });

  await story('more issues than one search reads', async (m) => {
    for (let i = 0; i < 10100; i += 1) addIssue(m, 1e12, { body: 'noise', user: { login: 'x' } });
    given(bench);
    const r = await bench.drive([bench.event('fixed', { action: 'comment' })]);
    like(r.tries[0].why, /still reading/, 'why');
    equal(r.tries.map((t) => t.result).join(), 'later,done', 'results');
    bench.holds({ comments: 1, requests: 110 });
  });

  await story('a damaged or stale cache', async (m) => {
    const forget = () => {
      bench.server.ahead += 3_600_000;
      rmSync(join(bench.dir, `state/progress-github-new-${SIG}.json`), { force: true });
    };
    await bench.drive([bench.event('new')]);
    const [cache] = bench.files().filter((f) => /\/index-[0-9a-f]{16}\.json$/.test(f));
    for (const text of ['', '{"version": 1', '[]', '{"version":1,"since":1,"next":"","issues":{"signature: x":-1}}',
      '{"version":1,"since":1,"next":"https://evil.example/","issues":{}}']) {
      forget();
      writeFileSync(cache, text);
      await bench.drive([bench.event('new')]);
      bench.holds({ requests: 100 });
    }
    // A user moved the marker to another issue.
    forget();
    m.issues[0].body = 'see the other one';
    given(bench, { user: { login: 'anna' }, author_association: 'OWNER' });
    const r = await bench.drive([bench.event('new')]);
    like(r.last.url, /issues\/2$/, 'url');
    equal(m.issues.length, 2, 'issues');
  });

  await story('a second between writes also by the real clock', async () => {
    await bench.drive(['a', 'b'].map((c) => bench.event('new', { signature: c.repeat(16) })), ['--sleep']);
    bench.holds({ issues: 2 });
  });

  await story('texts of any length', async (m) => {
    const body = `${'ü'.repeat(70000)}\n${MARK}\n`;
    const r = await bench.drive([bench.event('new', { title: 'ö'.repeat(500), body })]);
    equal(r.last.result, 'done', 'result');
    equal([...m.issues[0].title].length, 250, 'title');
    bench.holds();
  });

  await story('pages of issues above our size limit', async (m) => {
    for (let i = 0; i < 120; i += 1) addIssue(m, bench.server.now() - 100_000, { body: '\u{1F600}'.repeat(65000), user: { login: 'x' } });
    given(bench);
    const r = await bench.drive([bench.event('fixed', { action: 'comment' })]);
    equal(r.last.result, 'done', 'result');
    bench.holds({ comments: 1 });
  });
}
