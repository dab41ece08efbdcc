// SPDX-License-Identifier: Apache-2.0
// Killed, or failed once, at each call that can fail: the next process sends the remaining
// notifications, and none twice.
import { equal } from './harness.mjs';
import { closed, given, withInput } from './stories.mjs';

const upload = { path: 'crashes/x/minimized', bytes: 5000 };
const stories = {
  'a new crash with its reproducer': {
    events: (b) => [b.event('new', { upload })],
    options: ['--branch', 'b'],
    holds: { comments: 0 },
  },
  'a crash that is seen again': {
    setup: (b) => given(b, closed(b)),
    events: (b) => [b.event('again')],
    holds: { comments: 1 },
    state: 'open',
  },
  'a fix': {
    setup: (b) => given(b),
    events: (b) => [b.event('fixed')],
    holds: { comments: 1 },
    state: 'closed',
  },
  'a smaller input': {
    setup: (b) => given(b, { body: withInput('large') }),
    events: (b) => [b.event('smaller', { body: withInput('%REPRODUCER%'), upload })],
    options: ['--branch', 'b'],
    holds: { comments: 0 },
    edits: 1,
  },
};

async function again(bench, story, events, what) {
  const options = story.options ?? [];
  const r = await bench.drive(events, options);
  equal(r.last?.result, 'done', `${what}: result (${r.err})`);
  try {
    bench.holds(story.holds);
    // A failed upload replaces nothing.
    const edits = bench.server.model.issues[0].edits ?? 0;
    if (story.edits && !(what.startsWith('--fail') && edits === 0)) equal(edits, story.edits, 'edits');
    if (story.state) equal(bench.server.model.issues[0].state, story.state, 'state');
  } catch (e) { throw new Error(`${what}: ${e.message}`); }
}

// Injects each fault in turn, until a run meets none.  Returns the number of faults.
async function each(bench, story, option) {
  for (let at = 1; at < 5000; at += 1) {
    bench.fresh();
    story.setup?.(bench);
    const events = story.events(bench);
    const r = await bench.drive(events, [...(story.options ?? []), option, String(at)]);
    if (option === '--die' && r.code !== 86) return at - 1;
    if (option === '--fail' && at > story.faults) return at - 1;
    await again(bench, story, events, `${option} ${at} (${r.err.trim()})`);
  }
  throw new Error('no end');
}

// The server kills the client with SIGKILL, before or after it serves the nth request.
async function signals(bench, story, done) {
  for (let n = 0; n < 60; n += 1) {
    bench.fresh();
    story.setup?.(bench);
    const events = story.events(bench);
    bench.server.script = [{ on: /./, skip: n, kill: true, done }];
    const r = await bench.drive(events, story.options ?? []);
    if (r.signal !== 'SIGKILL') return n;
    await again(bench, story, events, `killed at request ${n + 1}`);
  }
  throw new Error('no end');
}

export async function kills(test, bench) {
  for (const [name, story] of Object.entries(stories)) {
    await test(`${name}: killed at every step`, async () => {
      story.faults = await each(bench, story, '--die');
      if (story.faults < 20) throw new Error(`only ${story.faults} steps`);
      console.log(`# ${story.faults} steps`);
    });
    await test(`${name}: every step fails once`, async () => { await each(bench, story, '--fail'); });
    await test(`${name}: killed before the server does it`, async () => { await signals(bench, story, false); });
    await test(`${name}: killed after the server did it`, async () => { await signals(bench, story, true); });
  }
}
