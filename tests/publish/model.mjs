// SPDX-License-Identifier: Apache-2.0
// A model of the part of GitHub that we use: issues, comments, files on branches, an App.  Each
// function takes {model, parts, query, body, now} and returns [status, body, headers].
// New objects appear in lists only after LAG_MS, as on GitHub's replicated servers.
import { createHash, createPublicKey, verify } from 'node:crypto';

export const LAG_MS = 30_000;
export const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');
const missing = () => [404, { message: 'Not Found' }];
const invalid = (field, message) =>
  [422, { message: 'Validation Failed', errors: [{ resource: 'Issue', field, code: 'custom', message }] }];

export function fresh() {
  return {
    issues: [],
    comments: [], // {id, issue, body, user, made}
    branches: new Map([['main', new Map()]]), // name -> path -> {sha, content}
    objects: new Set(),
    me: { login: 'fuzzbot', type: 'User' },
    association: 'NONE', // of the token's account
    app: null, // {id, key, installation, token}
    tells_login: true,
  };
}

export function addIssue(model, now, fields) {
  const number = model.issues.length + 1;
  const issue = {
    number, state: 'open', state_reason: null, labels: [], user: model.me,
    author_association: model.association, made: now, updated: now, closed_at: null,
    body: '', title: 'x', ...fields,
  };
  model.issues.push(issue);
  return issue;
}

function show(origin, i) {
  const { made, updated, ...rest } = i;
  return {
    ...rest,
    labels: i.labels.map((name) => ({ id: 1, name, color: 'ededed' })),
    url: `${origin}/repos/octo/widgets/issues/${i.number}`,
    html_url: `https://github.example/octo/widgets/issues/${i.number}`,
    created_at: iso(made), updated_at: iso(updated),
  };
}

// Returns one page, and the Link header with the next page.
function page({ query, origin, path }, all) {
  const per = Math.min(Number(query.get('per_page') ?? 30), 100);
  const at = Number(query.get('page') ?? 1);
  const headers = {};
  if (at * per < all.length) {
    const q = new URLSearchParams(query);
    q.set('page', at + 1);
    headers.link = `<${origin}${path}?${q}>; rel="next", <${origin}${path}?${q}>; rel="last"`;
  }
  return [all.slice((at - 1) * per, at * per), headers];
}

function since(query) {
  const s = query.get('since');
  return s ? Date.parse(s) : 0;
}

export function listIssues(r) {
  if (r.query.get('state') !== 'all' || r.query.get('sort') !== 'created' || r.query.get('direction') !== 'asc')
    return invalid('sort', 'the test wants all of them, oldest first');
  const all = r.model.issues.filter((i) => i.made + LAG_MS <= r.now && i.updated >= since(r.query) && !i.deleted);
  const [some, headers] = page(r, all);
  return [200, some.map((i) => show(r.origin, i)), headers];
}

export function openIssue(r) {
  const { title, body, labels = [] } = r.body;
  if (!title || [...title].length > 256) return invalid('title', 'title is too long (maximum is 256 characters)');
  if ([...body].length > 65536) return invalid('body', 'body is too long (maximum is 65536 characters)');
  if (labels.some((l) => l.length > 50)) return invalid('labels', 'name is too long (maximum is 50 characters)');
  return [201, show(r.origin, addIssue(r.model, r.now, { title, body, labels }))];
}

function issueOf(r) {
  return r.model.issues.find((i) => i.number === Number(r.parts[0]) && !i.deleted);
}

export function getIssue(r) {
  const i = issueOf(r);
  return i ? [200, show(r.origin, i)] : missing();
}

export function patchIssue(r) {
  const i = issueOf(r);
  if (!i) return missing();
  if (r.body.body !== undefined) {
    Object.assign(i, { body: r.body.body, updated: r.now, edits: (i.edits ?? 0) + 1 });
    return [200, show(r.origin, i)];
  }
  if (r.body.state === 'closed') Object.assign(i, { closed_at: iso(r.now) });
  if (r.body.state === 'open') Object.assign(i, { closed_at: null });
  Object.assign(i, { state: r.body.state, state_reason: r.body.state_reason, updated: r.now });
  i.changes = (i.changes ?? 0) + 1;
  return [200, show(r.origin, i)];
}

function showComment(origin, c) {
  return {
    id: c.id, body: c.body, user: c.user, author_association: c.association,
    created_at: iso(c.made), updated_at: iso(c.made), url: `${origin}/repos/octo/widgets/issues/comments/${c.id}`,
  };
}

export function listComments(r) {
  const i = issueOf(r);
  if (!i) return missing();
  const all = r.model.comments.filter(
    (c) => c.issue === i.number && c.made + LAG_MS <= r.now && c.made >= since(r.query));
  const [some, headers] = page(r, all);
  return [200, some.map((c) => showComment(r.origin, c)), headers];
}

export function addComment(model, now, issue, body, user = model.me, association = model.association) {
  const c = { id: model.comments.length + 1, issue, body, user, association, made: now };
  model.comments.push(c);
  return c;
}

export function postComment(r) {
  const i = issueOf(r);
  if (!i) return missing();
  i.updated = r.now;
  return [201, showComment(r.origin, addComment(r.model, r.now, i.number, r.body.body))];
}

// --- files -----------------------------------------------------------------------

const blob = (data) => createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex');

export function getRef(r) {
  const name = r.parts[0];
  return r.model.branches.has(name)
    ? [200, { ref: `refs/heads/${name}`, object: { sha: '1'.repeat(40), type: 'commit' } }]
    : missing();
}

function object(r) {
  const sha = createHash('sha1').update(JSON.stringify(r.body)).digest('hex');
  r.model.objects.add(sha);
  return [201, { sha }];
}

export function postTree(r) {
  return r.model.empty ? [409, { message: 'Git Repository is empty.' }] : object(r);
}

export function postCommit(r) {
  return r.model.objects.has(r.body.tree) ? object(r) : invalid('tree', 'Tree SHA does not exist');
}

export function postRef(r) {
  const name = r.body.ref.replace(/^refs\/heads\//, '');
  if (!r.model.objects.has(r.body.sha)) return invalid('sha', 'Object does not exist');
  if (r.model.branches.has(name)) return [422, { message: 'Reference already exists' }];
  r.model.branches.set(name, new Map());
  return [201, { ref: r.body.ref, object: { sha: r.body.sha, type: 'commit' } }];
}

const file = (path, sha) =>
  ({ name: path.split('/').pop(), path, sha, type: 'file', html_url: `https://github.example/octo/widgets/blob/x/${path}`,
    download_url: `https://raw.example/${path}?token=DOWNLOADSECRET` });

export function getFile(r) {
  const branch = r.model.branches.get(r.query.get('ref'));
  const f = branch?.get(r.parts[0]);
  return f ? [200, file(r.parts[0], f.sha)] : missing();
}

export function putFile(r) {
  const branch = r.model.branches.get(r.body.branch);
  const old = branch?.get(r.parts[0]);
  if (!branch) return [404, { message: `Branch ${r.body.branch} not found` }];
  if (old && r.body.sha !== old.sha) return [422, { message: 'Invalid request.\n\n"sha" wasn\'t supplied.' }];
  const content = Buffer.from(r.body.content, 'base64');
  branch.set(r.parts[0], { sha: blob(content), content });
  r.model.puts = (r.model.puts ?? 0) + 1;
  return [old ? 200 : 201, { content: file(r.parts[0], blob(content)), commit: { sha: '2'.repeat(40) } }];
}

// --- the token's user --------------------------------------------------------------

export function getUser(r) {
  return r.model.tells_login ? [200, { ...r.model.me, id: 1 }]
    : [403, { message: 'Resource not accessible by integration' }];
}

// Checks the statement (JWT) of an App, by RFC 7515 and 7519.  Returns null or the fault.
export function badStatement(model, jwt, now) {
  const [head, claims, signature] = jwt.split('.');
  const read = (s) => JSON.parse(Buffer.from(s, 'base64url').toString());
  if (!signature || read(head).alg !== 'RS256') return 'A JSON web token could not be decoded';
  const key = createPublicKey(model.app.key);
  if (!verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url')))
    return 'A JSON web token could not be decoded';
  const { iat, exp, iss } = read(claims);
  if (Number(iss) !== model.app.id) return 'Integration not found';
  if (iat > now / 1000) return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
  if (exp < now / 1000 || exp - now / 1000 > 600) return "'Expiration time' claim ('exp') is too far in the future";
  return null;
}

export function getApp(r) {
  return [200, { id: r.model.app.id, slug: 'fuzzapp' }];
}

export function postInstallationToken(r) {
  if (Number(r.parts[0]) !== r.model.app.installation) return missing();
  r.model.app.given = (r.model.app.given ?? 0) + 1;
  r.model.app.token = `${r.model.app.secret}${r.model.app.given}`;
  r.model.app.ends = r.now + 3_600_000;
  return [201, { token: r.model.app.token, expires_at: iso(r.model.app.ends) }];
}
