// SPDX-License-Identifier: Apache-2.0
// A page as a user sees it, and what must hold for each page.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const MODES = {
  light: { colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  dark: { colorScheme: 'dark', viewport: { width: 1360, height: 900 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 740 } },
  plain: { colorScheme: 'light', viewport: { width: 1360, height: 900 }, javaScriptEnabled: false },
};

export class Browser {
  static async start(modules, shots) {
    const require = createRequire(join(modules, 'package.json'));
    const { chromium } = require('playwright-core');
    mkdirSync(shots, { recursive: true });
    return Object.assign(new Browser(), {
      shots,
      tabs: new WeakMap(),
      axe: readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'),
      chromium: await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS, timeout: 120_000 }),
    });
  }

  stop() { return this.chromium.close(); }

  context(mode) { return this.chromium.newContext(MODES[mode]); }

  // Opens a page and records its violations.  A context has one tab: to start a tab takes longer
  // than to show most pages.
  async open(context, url) {
    const page = context.pages()[0] ?? await this.tab(context);
    const heard = { wrong: [], base: url.startsWith('file:') ? 'file:' : new URL(url).origin };
    this.tabs.set(page, heard);
    const answer = await page.goto(url, { waitUntil: 'load', timeout: 120_000 });
    return { page, wrong: heard.wrong, answer };
  }

  async tab(context) {
    const page = await context.newPage();
    const wrong = (text) => this.tabs.get(page)?.wrong.push(text);
    page.setDefaultTimeout(120_000);
    // Chromium warns of slow operations; these warnings do not fail a test.
    page.on('console', (m) => {
      if (m.type() === 'error') wrong(`console: ${m.text()}`);
      if (m.type() === 'warning') console.log(`# console: ${m.text()}`);
    });
    page.on('pageerror', (e) => wrong(`error: ${e.message}`));
    page.on('dialog', (d) => { wrong(`dialog: ${d.message()}`); d.dismiss(); });
    page.on('request', (r) => { if (!r.url().startsWith(`${this.tabs.get(page)?.base}/`)) wrong(`request: ${r.url()}`); });
    page.on('response', (r) => { if (r.status() >= 400) wrong(`${r.status()}: ${r.url()}`); });
    return page;
  }

  // Violations of one page do not count for the tab's next page.
  async forget(context) { for (const page of context.pages()) await page.close(); }

  // Only serious and critical violations fail; the others are printed.
  async axes(page) {
    await page.evaluate(this.axe);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
    const all = found.violations.map((v) => `${v.impact}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target).join(', ')}`);
    return all.filter((t) => /^(serious|critical)/.test(t));
  }

  shot(page, name) { return page.screenshot({ path: join(this.shots, `${name}.png`), fullPage: true, timeout: 120_000 }); }
}

// Waits until every figure is drawn, or has no data to draw.  Returns how many pixels of a curve's
// colour each canvas has.  (Curves may overlap.)  A copy is read, because Chromium warns on the
// console when a canvas without willReadFrequently is read more than once.
export async function drawn(page) {
  await page.waitForFunction(() => [...document.querySelectorAll('figure.plot')].every((f) => f.dataset.drawn), null, { timeout: 60_000 });
  return page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    const readable = (width, height) => {
      const canvas = Object.assign(document.createElement('canvas'), { width, height });
      return canvas.getContext('2d', { willReadFrequently: true });
    };
    const colours = [1, 2, 3].map((i) => {
      const probe = readable(1, 1);
      probe.fillStyle = style.getPropertyValue(`--curve-${i}`).trim();
      probe.fillRect(0, 0, 1, 1);
      return probe.getImageData(0, 0, 1, 1).data;
    });
    return [...document.querySelectorAll('figure.plot[data-drawn=yes]')].map((f) => {
      const canvas = f.querySelector('canvas');
      const copy = readable(canvas.width, canvas.height);
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      let n = 0;
      const is = (i, c) => Math.abs(data[i] - c[0]) + Math.abs(data[i + 1] - c[1]) + Math.abs(data[i + 2] - c[2]) < 48;
      for (let i = 0; i < data.length; i += 4) n += data[i + 3] > 128 && colours.some((c) => is(i, c));
      return [f.querySelector('figcaption').textContent, n];
    });
  });
}

// Returns every page that can be reached from the first.
export async function crawl(base) {
  const todo = ['index.html'];
  const seen = new Set(todo);
  for (let at = todo.shift(); at; at = todo.shift()) {
    const html = await (await fetch(`${base}/${at}`)).text();
    for (const [, href] of html.matchAll(/<a[^>]* href="([^"]*\.html)"/g)) {
      const path = new URL(href.replaceAll('&amp;', '&'), `${base}/${at}`).href.slice(base.length + 1);
      if (!seen.has(path)) {
        seen.add(path);
        todo.push(path);
      }
    }
  }
  return [...seen];
}
