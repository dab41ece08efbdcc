// SPDX-License-Identifier: Apache-2.0
// usage: node test.mjs FUZZCELL TARGETS DIR     prints TAP; DIR keeps screenshots and packages
//
// In light mode every page is opened, in each other mode one page of each kind: a mode changes the
// look of a kind of page, not its content.  Cells fuzz while the browser checks the first states.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, like, plan, test } from '../publish/harness.mjs';
import { Browser, crawl, drawn, MODES } from './browser.mjs';
import { broad, chosen, config, endAll, exported, fuzz, hostile, MARKUP, NAME, running, Shown, SIG } from './state.mjs';

const [, , program, targets, dir] = process.argv;
const here = dirname(fileURLToPath(import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'fuzzcell-web.'));
const modules = resolve(dir, 'npm');
const PAGE_MAX = 300 << 10;
const FUZZ_SECONDS = 20;
// Hostile text may become markup, or be too long for a phone; colours do not matter.
const MODES_OF = { hostile: ['light', 'phone', 'plain'], real: Object.keys(MODES) };
// Kinds of pages that differ in more than their data; the first match stands for its kind.
const KINDS = [/^index/, /^crashes\.html/, /^runs\.html/, /^health/, /^targets\//, /^crashes\//, /^runs\//];
const CURVED = /^targets\/healthy_fuzzer/; // has every curve
// For a quick run: WEB_MODES="light phone" WEB_STATES=hostile
const modes = process.env.WEB_MODES?.split(' ') ?? Object.keys(MODES);
const states = process.env.WEB_STATES?.split(' ') ?? ['hostile', 'broad', 'real', 'living'];

// Installs exactly the packages of the lock file.
function install() {
  const lock = readFileSync(join(here, 'package-lock.json'), 'utf8');
  const done = join(modules, 'installed');

  if (existsSync(done) && readFileSync(done, 'utf8') === lock) return;
  mkdirSync(modules, { recursive: true });
  for (const f of ['package.json', 'package-lock.json']) cpSync(join(here, f), join(modules, f));
  const r = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: modules, encoding: 'utf8', timeout: 400_000 });
  if (r.status !== 0) throw new Error(`npm ci: ${r.stderr}`);
  writeFileSync(done, lock);
}

const none = (list, what) => equal(list.join('\n'), '', what);
const shot = (state, mode, path) => `${state}-${mode}-${decodeURIComponent(path).replace(/\.html$/, '').replace(/[^\w.-]/g, '_')}`;

// Checks a page in a mode.
async function holds(browser, context, mode, state, base, path) {
  try {
    const { page, wrong, answer } = await browser.open(context, `${base}/${path}`);
    equal(answer.status(), 200, path);
    like(answer.headers()['content-security-policy'], /default-src 'none'; script-src 'self'; style-src 'self'/, 'policy');
    if ((await answer.body()).length > PAGE_MAX) throw new Error(`${path}: more than 300 KiB`);
    if (mode !== 'plain')
      for (const [caption, pixels] of await drawn(page))
        if (pixels < 20) throw new Error(`${path}: ${caption}: ${pixels} pixels of a curve`);
    await browser.shot(page, shot(state, mode, path));
    equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${path} fits the width`);
    equal(await page.evaluate(() => document.querySelectorAll('img, iframe, object, script:not([src]), [onerror], [onmouseover], [style]:not(figure *)').length),
      0, `${path}: what text became`);
    if (mode !== 'plain') none(await browser.axes(page), `${path}: axe`);
    none(wrong, path);
  } catch (e) {
    await browser.forget(context);
    throw e;
  }
}

async function everyPage(browser, state, base) {
  const paths = await crawl(base);
  const kinds = KINDS.map((kind) => paths.find((p) => kind.test(p) && CURVED.test(p)) ?? paths.find((p) => kind.test(p)));
  for (const [i, kind] of KINDS.entries())
    await test(`${state}: there is a page like ${kind}`, () => equal(kinds[i] !== undefined, true, paths.join(' ')));
  for (const mode of modes.filter((m) => MODES_OF[state].includes(m))) {
    const context = await browser.context(mode);
    for (const path of mode === 'light' ? paths : kinds.filter(Boolean))
      await test(`${state}, ${mode}: ${decodeURIComponent(path).replace('#', '')}`, () => holds(browser, context, mode, state, base, path));
    await context.close();
  }
  return paths;
}

async function until(what, is, pause = 500) {
  for (const end = Date.now() + 240_000; Date.now() < end; await new Promise((r) => { setTimeout(r, pause); }))
    if (await is()) return;
  throw new Error(`timeout after four minutes: ${what}`);
}

async function curves(browser, base, paths) {
  const path = paths.find((p) => CURVED.test(p));
  await test('the curves of a target that was fuzzed twice are drawn', async () => {
    const context = await browser.context('light');
    const { page, wrong } = await browser.open(context, `${base}/${path}`);
    const all = await drawn(page);
    for (const name of ['Coverage', 'Corpus', 'Speed', 'Memory', 'Pressure', 'CPU'])
      equal(all.some(([caption, pixels]) => caption.startsWith(name) && pixels > 20), true, `${name} in ${JSON.stringify(all)}`);
    equal(await page.locator('#points tbody tr').count() > 1, true, 'rows of the table');
    // The reader's colours change: so do the curves.
    await page.emulateMedia({ colorScheme: 'dark' });
    await until('every curve is drawn for the dark', async () => (await drawn(page)).every(([, pixels]) => pixels > 20), 50);
    none(wrong, path);
    await context.close();
  });
}

async function keyboard(browser, base) {
  await test('by keyboard: to the content, to a table, and to another sort order', async () => {
    const context = await browser.context('light');
    const { page } = await browser.open(context, `${base}/index.html`);
    await page.keyboard.press('Tab');
    equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content', 'first stop');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#main$/);
    const sort = page.locator('#targets thead th').nth(6).locator('button');
    await sort.focus();
    await page.keyboard.press('Enter');
    equal(await page.locator('#targets thead th').nth(6).getAttribute('aria-sort'), 'descending', 'order');
    const values = await page.locator('#targets tbody td:nth-child(7)').evaluateAll((cells) => cells.map((c) => Number(c.dataset.value || 0)));
    equal(JSON.stringify(values), JSON.stringify([...values].sort((a, b) => b - a)), 'values');
    await context.close();
  });
}

async function withoutScript(browser, base, paths) {
  await test('without JavaScript there are tables and curves', async () => {
    const context = await browser.context('plain');
    const { page } = await browser.open(context, `${base}/${paths.find((p) => CURVED.test(p))}`);
    equal(await page.locator('figure.plot svg polyline').count() >= 6, true, 'curves');
    equal(await page.locator('#runs tbody tr').count(), 2, 'runs');
    await page.goto(`${base}/index.html`);
    equal(await page.locator('#targets tbody tr').count(), 4, 'targets');
    await context.close();
  });
}

async function onDisk(browser, state) {
  await test('a copy on a disk is the same, with its curves', async () => {
    const to = join(work, 'export');
    exported(program, state, to);
    const context = await browser.context('light');
    for (const path of ['index.html', 'targets/healthy_fuzzer.html', 'crashes.html', 'health.html', 'runs.html', 'rounds.html']) {
      const { page, wrong } = await browser.open(context, `file://${to}/${path}`);
      for (const [caption, pixels] of await drawn(page)) equal(pixels > 20, true, `${caption} on a disk`);
      await browser.shot(page, shot('disk', 'light', path));
      none(wrong, path);
    }
    await context.close();
  });
}

async function textStaysText(browser, base) {
  const context = await browser.context('light');
  await test('the name of a target is text', async () => {
    const { page, wrong } = await browser.open(context, `${base}/index.html`);
    equal(await page.locator('#targets tbody th a').first().textContent(), NAME, 'in the table');
    await Promise.all([page.waitForURL('**/targets/*'), page.locator('#targets tbody th a').first().click()]);
    like(await page.locator('h1').textContent(), /^evil"'&<img src=x onerror=alert\(1\)>/, 'as a heading');
    like(await page.title(), /<img src=x onerror=alert\(1\)>/, 'as a title');
    none(wrong, 'that page');
  });
  await test('a report full of markup is text', async () => {
    const { page, wrong } = await browser.open(context, `${base}/crashes/${SIG}.html`);
    const report = await page.locator('pre').last().textContent();
    like(report, /<script>alert\(1\)<\/script><b onmouseover=alert\(2\)>/, 'report');
    equal(report.includes(MARKUP), true, 'report');
    like(report, /\\u202eeman\\u202c\\x1b\[2J\\x07/, 'what steers a terminal');
    equal(await page.locator('a[href^="javascript"]').count(), 0, 'links');
    none(wrong, 'that page');
  });
  await context.close();
}

async function vendored() {
  await test('the plotting library has the checksums that its README names', () => {
    const vendor = join(here, '../../runner/serve/assets/vendor/uplot');
    const sums = [...readFileSync(join(vendor, 'README.md'), 'utf8').matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)];
    equal(sums.length, 2, 'sums');
    for (const [, sum, name] of sums)
      equal(createHash('sha256').update(readFileSync(join(vendor, name))).digest('hex'), sum, name);
  });
}

// Two runs of one state, which the caller awaits later.
async function fuzzed(state) {
  config(state);
  for (const commit of ['1234567890abcdef1234567890abcdef12345678', '234567890abcdef1234567890abcdef123456789'])
    await fuzz(resolve(program), state, join(work, 'targets'), FUZZ_SECONDS, commit);
}

async function real(browser, state) {
  const shown = await Shown.start(program, state);
  try {
    const paths = await everyPage(browser, 'real', shown.base);
    await curves(browser, shown.base, paths);
    await keyboard(browser, shown.base);
    await withoutScript(browser, shown.base, paths);
    await onDisk(browser, state);
  } finally {
    shown.stop();
  }
}

// A page of a living run, and its updates.
async function living(browser) {
  const state = join(work, 'living');
  config(state);
  const run = running(resolve(program), state, join(work, 'targets'));
  const shown = await Shown.start(program, state);
  try {
    await test('a page of a living run is updated', async () => {
      const overview = async () => (await fetch(`${shown.base}/api/v1/overview.json`)).json();
      await until('a target is fuzzed', async () => (await overview()).targets.some((t) => t.live && t.state === 'fuzzing'));
      const context = await browser.context('light');
      const { page, wrong } = await browser.open(context, `${shown.base}/index.html`);
      const was = await page.locator('#verdict').textContent();
      like(was, /has been going for/, 'verdict');
      await browser.shot(page, shot('living', 'light', 'index.html'));
      await page.waitForFunction((t) => document.getElementById('verdict').textContent !== t, was);
      await page.locator('#targets thead th').nth(2).locator('button').click();
      await page.waitForFunction(() => document.querySelectorAll('#targets thead th')[2].hasAttribute('aria-sort'));
      none(await browser.axes(page), 'axe');
      none(wrong, 'that page');
      await context.close();
    });
  } finally {
    await run.end();
    shown.stop();
  }
}

// Columns that a table shows without scrolling.
const seen = (page, table) => page.evaluate((id) => {
  const at = document.getElementById(id);
  const { right } = at.closest('.scroll').getBoundingClientRect();
  return [...at.tHead.rows[0].cells].filter((c) => c.getBoundingClientRect().right <= right + 1).map((c) => c.textContent);
}, table);

async function widths(browser) {
  const state = join(work, 'broad');
  broad(state);
  const shown = await Shown.start(program, state);
  const at = async (width, options, path, look) => {
    const context = await browser.chromium.newContext({ viewport: { width, height: 800 }, ...options });
    const { page, wrong } = await browser.open(context, `${shown.base}/${path}`);
    await browser.shot(page, `broad-${width}-${path.replace(/\W/g, '_')}`);
    equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${path} fits ${width}`);
    await look(page);
    none(wrong, path);
    await context.close();
  };
  try {
    for (const zone of ['UTC', 'Asia/Kolkata'])
      for (const path of ['index.html', 'targets.html'])
        await test(`1280 pixels, ${zone}: ${path} shows the targets with all columns`, () => at(1280, { timezoneId: zone }, path, async (page) => {
          equal((await seen(page, 'targets')).length, 13, 'columns');
        }));
    await test('a phone shows the most important columns', () => at(390, {}, 'index.html', async (page) => {
      equal((await seen(page, 'targets')).slice(0, 3).join(), 'Target,Health,Crashes', 'targets');
      equal((await seen(page, 'runs')).slice(0, 3).join(), 'Run,Status,New crashes', 'runs');
    }));
    await test('times are in the time zone of the reader, with UTC beside them', () => at(1280, { timezoneId: 'Asia/Kolkata' }, 'index.html', async (page) => {
      equal(await page.locator('#targets tbody time').first().innerText(), '2026-11-23 05:00\n11-22 23:30 UTC', 'in a table');
      like(await page.locator('#updated').innerText(), /as of 2026-11-23 05:00 .*11-22 23:30 UTC/, 'in the head');
      like(await page.locator('footer').innerText(), /fuzzcell \d\S+ Times are in Asia\/(Kolkata|Calcutta), with UTC beside them/, 'foot');
      like(await page.locator('#updated').innerText(), /commit 5f0c5f0c5f0c/, 'commit');
    }));
    await test('without JavaScript times are in UTC, and marked as UTC', () => at(1280, { javaScriptEnabled: false }, 'index.html', async (page) => {
      equal(await page.locator('#targets tbody time').first().innerText(), '2026-11-22 23:30 UTC', 'in a table');
      like(await page.locator('footer').innerText(), /Times are UTC\./, 'foot');
    }));
  } finally {
    shown.stop();
  }
}

async function evil(browser) {
  const state = join(work, 'hostile');
  hostile(state);
  const shown = await Shown.start(program, state);
  try {
    await everyPage(browser, 'hostile', shown.base);
    await textStaysText(browser, shown.base);
  } finally {
    shown.stop();
  }
}

let browser;
let all = false;
try {
  install();
  chosen(targets, join(work, 'targets'));
  const state = join(work, 'state');
  const runs = states.includes('real') ? fuzzed(state).then(() => null, (e) => e) : null;
  browser = await Browser.start(modules, resolve(dir));
  await vendored();
  if (states.includes('hostile')) await evil(browser);
  if (states.includes('broad')) await widths(browser);
  if (states.includes('living')) await living(browser);
  const failed = await runs;
  if (failed) throw failed;
  if (runs) await real(browser, state);
  all = plan();
} catch (e) {
  console.log(`Bail out! ${String(e?.stack ?? e).replaceAll('\n', ' ')}`);
} finally {
  await browser?.stop();
  await endAll();
  rmSync(work, { recursive: true, force: true });
}
process.exitCode = all ? 0 : 1;
