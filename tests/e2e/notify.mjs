// SPDX-License-Identifier: Apache-2.0
// The receivers of an end-to-end test: notify.mjs DIR.  They are the GitHub of tests/publish and a
// webhook.  The words of DIR/labels are on every issue.  DIR/github and DIR/hook get the
// addresses, DIR/token the token.  DIR/received is what the receivers know, written anew before each
// answer.  SIGUSR1: the servers stop, and DIR/down exists; SIGUSR2: they answer again.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Server } from '../publish/server.mjs';

const dir = process.argv[2];
const TOKEN = 'ghp_PLANTEDsecretPLANTEDsecret';
const KEY = 'PLANTEDkey';
const github = new Server();
const hooks = [];
let down = false;

function put(name, text, mode = 0o600) {
  writeFileSync(`${dir}/${name}.new`, text, { mode });
  renameSync(`${dir}/${name}.new`, `${dir}/${name}`);
}

function write() {
  put('received', JSON.stringify({
    issues: github.model.issues, comments: github.model.comments, wrong: github.wrong, seen: github.seen, hooks,
  }));
}

const take = github.take.bind(github);
github.take = (q, a, body) => {
  if (down) { a.destroy(); return; }
  if (existsSync(`${dir}/labels`)) {
    const labels = readFileSync(`${dir}/labels`, 'utf8').split(/\s+/).filter(Boolean);
    for (const i of github.model.issues) i.labels = labels;
  }
  take(q, a, body);
};

// Written before the client gets the answer and ends.
const send = github.send.bind(github);
github.send = (...answer) => {
  write();
  send(...answer);
};

const hook = createServer((q, a) => {
  let body = '';
  q.on('data', (d) => { body += d; });
  q.on('end', () => {
    const sum = `sha256=${createHmac('sha256', KEY).update(body).digest('hex')}`;
    hooks.push({
      event: q.headers['x-fuzzcell-event'], id: q.headers['x-fuzzcell-delivery'],
      signed: q.headers['x-fuzzcell-signature-256'] === sum, body: JSON.parse(body),
    });
    write();
    a.end('ok');
  });
});

process.on('SIGUSR1', () => { down = true; put('down', ''); });
process.on('SIGUSR2', () => { down = false; rmSync(`${dir}/down`); });
github.token = TOKEN;
github.secrets = [TOKEN, KEY];
put('token', `${TOKEN}\n`);
put('key', KEY);
hook.listen(0, '127.0.0.1', async () => {
  put('hook', `http://127.0.0.1:${hook.address().port}/x`);
  write();
  put('github', await github.listen());
});
