// SPDX-License-Identifier: Apache-2.0
// Adds to pages with JavaScript: curves, tables that sort and filter, and updates during a living
// run.  All data comes from the page's own server as text, and never becomes markup.
'use strict';

(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const make = (name, props = {}, ...inside) => {
    const el = Object.assign(document.createElement(name), props);
    el.append(...inside);
    return el;
  };

  // --- readable figures, in the server's format ---------------------------------

  const short = (v, step, names) => {
    let i = 0;
    while (Math.abs(v) >= step && i < names.length - 1) { v /= step; i += 1; }
    return `${Math.abs(v) < 10 && v % 1 ? v.toFixed(1) : Math.round(v * 10) / 10}${names[i]}`;
  };
  const span = (s) => {
    const whole = (n) => String(Math.floor(n)).padStart(2, '0');
    if (s < 60) return `${Math.round(s * 10) / 10}s`;
    if (s < 3600) return `${Math.floor(s / 60)}m${whole(s % 60)}s`;
    if (s < 86400) return `${Math.floor(s / 3600)}h${whole((s % 3600) / 60)}m`;
    return `${Math.floor(s / 86400)}d${whole((s % 86400) / 3600)}h`;
  };
  const units = {
    count: (v) => short(v, 1000, ['', 'k', 'M', 'G', 'T']),
    bytes: (v) => short(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']),
    share: (v) => `${Math.round(v * 1000) / 10}%`,
    number: (v) => v.toFixed(2),
  };
  const shown = (unit, v) => (v === null || v === undefined ? '–' : (units[unit] ?? units.count)(v));

  // --- times in the reader's time zone, with UTC beside them -----------------------

  const two = (n) => String(n).padStart(2, '0');
  const day = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  const clock = (d) => `${two(d.getHours())}:${two(d.getMinutes())}`;
  const utcOf = (d) => {
    const iso = d.toISOString();
    return `${iso.slice(0, 10) === day(d) ? '' : `${iso.slice(5, 10)} `}${iso.slice(11, 16)} UTC`;
  };
  const localise = (t) => {
    const d = new Date(t.dateTime);
    const utc = t.querySelector('.utc');
    if (t.dataset.ready || !utc || Number.isNaN(d.getTime())) return;
    t.dataset.ready = 'yes';
    t.title = t.dateTime;
    if (d.getTimezoneOffset() === 0) return;
    t.firstChild.data = `${day(d)} ${clock(d)} `;
    utc.textContent = utcOf(d);
    t.classList.add('local');
  };
  const sayZone = () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const el = document.getElementById('zone');
    if (el && document.querySelector('time.local')) el.textContent = `Times are in ${zone}, with UTC beside them.`;
  };

  // --- data ------------------------------------------------------------------------------

  // The table with the curves' data, which is the only data of a page opened from a disk.
  const fromTable = (id) => {
    const table = id && document.getElementById(id);
    if (!table) return null;
    return {
      columns: [...table.tHead.rows[0].cells].map((c) => c.dataset.column),
      points: [...table.tBodies[0].rows].map((r) => [...r.cells].map((c) => {
        const v = c.dataset.value;
        return v === undefined || v === '' ? null : Number(v);
      })),
    };
  };
  const fetched = new Map();
  const load = (url) => {
    if (!fetched.has(url)) {
      fetched.set(url, fetch(url).then((a) => (a.ok ? a.json() : Promise.reject(new Error(a.status)))));
    }
    return fetched.get(url);
  };
  const dataOf = async (figure) => {
    const { series, table } = figure.dataset;
    if (series && location.protocol.startsWith('http')) {
      try {
        return await load(series);
      } catch {
        // the page's own data
      }
    }
    return fromTable(table);
  };

  // "cov", or "execs/cpu_seconds": growth of the first by growth of the second, as the server draws
  // it.  By time it counts from the previous point, else from the point at which both last grew.  An
  // engine reports its executions at intervals, and the last of them when its CPU time has ended.
  const column = (data, name) => {
    const [top, below] = name.split('/').map((n) => data.columns.indexOf(n));
    if (top < 0 || below < 0) return null;
    if (below === undefined) return data.points.map((p) => p[top] ?? null);
    const inTime = name.endsWith('/t');
    let from;
    return data.points.map((p) => {
      if (p[top] === null || p[below] === null) return null;
      const more = from ? p[top] - from[top] : 0;
      const by = from ? p[below] - from[below] : 0;
      if (!from || inTime || more < 0 || by < 0 || (more > 0 && by > 0)) from = p;
      return by > 0 && (more > 0 || (inTime && more === 0)) ? more / by : null;
    });
  };

  // --- curves -------------------------------------------------------------------------------

  const plots = new Map();

  // Steps of a scale: 1, 2, 5, 10, ...; for bytes 1, 2, 4, 8, ...
  const steps = {
    bytes: Array.from({ length: 50 }, (_, i) => 2 ** i),
    number: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100],
    count: Array.from({ length: 45 }, (_, i) => [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3)),
  };
  const axis = (unit, side) => ({
    side,
    ...(steps[unit] ? { incrs: steps[unit] } : {}),
    stroke: colour('--soft'),
    grid: { stroke: colour('--faint'), width: 1, show: side === 3 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
    size: 54,
    gap: 4,
    space: 34,
    values: (_, vs) => vs.map((v) => (v === null ? '' : shown(unit, v))),
  });
  const elapsed = {
    stroke: () => colour('--soft'),
    grid: { stroke: () => colour('--faint'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
    size: 24,
    gap: 3,
    space: 70,
    incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800],
    values: (_, vs) => vs.map(span),
  };
  const daySeconds = 86400;
  const dates = {
    ...elapsed,
    incrs: [1, 5, 10, 30, 60].map((n) => n * 60).concat([2, 3, 6, 12].map((n) => n * 3600), [1, 2, 5, 10, 30, 60, 120, 365].map((n) => n * daySeconds)),
    values: (u, vs, _, __, step) => vs.map((v) => new Date(v * 1000)).map((d) => (step < daySeconds ? clock(d) : day(d).slice(5))),
  };

  // One scale, or two if the second column has another unit.
  const options = (figure, data, names, limit) => {
    const unit = (figure.dataset.units ?? 'count').split(' ');
    const scale = (i) => (unit[i] !== undefined && i > 0 ? 'right' : 'left');
    const scales = { x: { time: false } };
    const two = names.some((_, i) => scale(i) === 'right');
    const top = figure.dataset.max && Number(figure.dataset.max);
    // The second scale is a little longer, so that curves of the same shape do not hide each other.
    const range = (room) => (_, low, high) => [0, Math.max(top || 0, limit || 0, high > 0 ? high : 1) * (top ? 1 : room)];
    scales.left = { range: range(1.08) };
    if (two) scales.right = { range: range(1.35) };
    const series = [{ value: (_, v) => (v === null ? '–' : figure.dataset.x === 'time' ? `${day(new Date(v * 1000))} ${clock(new Date(v * 1000))}` : span(v)) }];
    names.forEach((name, i) => series.push({
      label: figure.dataset.labels.split('|')[i],
      scale: scale(i),
      stroke: colour(`--curve-${i + 1}`),
      width: 1.6,
      spanGaps: true,
      // A single value does not make a line.
      points: { show: figure.dataset.x === 'time' || column(data, name).filter((v) => v !== null).length < 3, size: 7, fill: colour(`--curve-${i + 1}`) },
      value: (_, v) => shown(unit[i] ?? unit[0], v),
    }));
    if (limit) series.push({ label: 'limit', scale: 'left', stroke: colour('--limit'), dash: [5, 4], width: 1.4, points: { show: false } });
    return {
      scales,
      series,
      axes: [
        figure.dataset.x === 'time' ? dates : elapsed,
        { ...axis(unit[0], 3), scale: 'left' },
        ...(two ? [{ ...axis(unit[1], 1), scale: 'right' }] : []),
      ],
      legend: { show: false },
      cursor: { sync: { key: figure.dataset.x }, drag: { x: true, y: false }, points: { size: 7 } },
      padding: [8, two ? 0 : 12, 0, 0],
    };
  };

  const draw = (figure, data) => {
    const surface = figure.querySelector('.surface');
    const names = figure.dataset.columns.split(' ').filter((n) => column(data, n));
    const limit = Number(figure.dataset.limit) || 0;
    const xs = column(data, figure.dataset.x);
    if (!xs || xs.length < 2 || names.length === 0) {
      figure.dataset.drawn = 'nothing';
      return;
    }
    const values = [xs, ...names.map((n) => column(data, n))];
    if (limit) values.push(xs.map(() => limit));
    plots.get(figure)?.destroy();
    const readout = [...figure.querySelectorAll('.key [data-key]')];
    const u = new uPlot({
      ...options(figure, data, names, limit),
      width: surface.clientWidth,
      height: surface.clientHeight,
      hooks: {
        draw: [() => { figure.dataset.drawn = 'yes'; }],
        setCursor: [(p) => readout.forEach((el, i) => {
          const at = p.cursor.idx;
          el.textContent = at === null || at === undefined ? '' : ` ${p.series[i + 1].value(p, p.data[i + 1][at])}`;
        })],
      },
    }, values, surface);
    u.root.setAttribute('aria-hidden', 'true'); // the caption and the table have the same information
    surface.classList.add('drawn');
    plots.set(figure, u);
  };

  const drawAll = () => Promise.all([...document.querySelectorAll('figure.plot')].map(async (figure) => {
    const data = await dataOf(figure);
    if (data && typeof uPlot === 'function') draw(figure, data);
    else figure.dataset.drawn = 'nothing';
  }));
  dark.addEventListener('change', drawAll);
  const sizes = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const u = plots.get(target.closest('figure'));
      if (u && target.clientWidth > 0 && target.clientWidth !== u.width) u.setSize({ width: target.clientWidth, height: target.clientHeight });
    }
  });

  // --- tables ------------------------------------------------------------------------------------

  const key = (row, i) => {
    const cell = row.cells[i];
    const v = cell?.dataset.value;
    return v !== undefined && v !== '' ? Number(v) : (cell?.textContent ?? '').trim().toLowerCase();
  };
  const sort = (table, i, down) => {
    const body = table.tBodies[0];
    const order = (a, b) => (typeof a === typeof b ? (a < b ? -1 : Number(a > b)) : typeof a === 'number' ? -1 : 1);
    const rows = [...body.rows].map((r) => [key(r, i), r]);
    rows.sort((a, b) => (down ? order(b[0], a[0]) : order(a[0], b[0])));
    body.append(...rows.map((r) => r[1]));
    [...table.tHead.rows[0].cells].forEach((c, n) => {
      if (n === i) c.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else c.removeAttribute('aria-sort');
    });
    table.dataset.order = `${i} ${down ? 'down' : 'up'}`;
  };
  const filter = (table, text) => {
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(text.toLowerCase());
  };
  const sortable = (table) => {
    if (table.dataset.ready) return;
    table.dataset.ready = 'yes';
    if (table.tBodies[0]?.rows.length > 1) {
      [...table.tHead.rows[0].cells].forEach((cell, i) => {
        const button = make('button', { type: 'button' });
        button.append(...cell.childNodes);
        button.addEventListener('click', () => {
          const now = cell.getAttribute('aria-sort');
          sort(table, i, now ? now === 'ascending' : cell.classList.contains('n'));
        });
        cell.append(button);
      });
    }
    const tools = document.getElementById(table.dataset.tools);
    if (!tools || tools.childElementCount > 0 || table.tBodies[0]?.rows.length < 15) return;
    const input = make('input', { type: 'search', id: `${table.dataset.tools}-filter` });
    input.addEventListener('input', () => filter(document.querySelector(`table[data-tools="${table.dataset.tools}"]`), input.value));
    tools.append(make('label', { htmlFor: input.id, textContent: 'Show rows with' }), input);
  };

  // --- commands to copy -------------------------------------------

  const dress = (within) => {
    within.querySelectorAll('table[data-tools]').forEach(sortable);
    within.querySelectorAll('time[datetime]').forEach(localise);
    sayZone();
    within.querySelectorAll('.command').forEach((el) => {
      if (!navigator.clipboard || el.querySelector('button')) return;
      const button = make('button', { type: 'button', className: 'do', textContent: 'Copy' });
      button.addEventListener('click', () => navigator.clipboard.writeText(el.querySelector('code').textContent)
        .then(() => { button.textContent = 'Copied'; }, () => { button.textContent = 'Not allowed'; }));
      el.append(button);
    });
  };

  // --- a living run: loads the page again and replaces its parts -----------------------------------

  const settle = (old, now) => {
    const { order, tools } = old.dataset;
    old.replaceWith(now);
    if (now.tagName !== 'TABLE') return;
    sortable(now);
    const [i, way] = (order ?? '').split(' ');
    if (way) sort(now, Number(i), way === 'down');
    const text = document.getElementById(`${tools}-filter`)?.value;
    if (text) filter(now, text);
  };
  const refresh = async () => {
    if (document.hidden) return;
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const old of document.querySelectorAll('[data-part]')) {
      const now = page.getElementById(old.id);
      if (!now || old.contains(document.activeElement) || now.outerHTML === old.dataset.was) continue;
      const was = now.outerHTML;
      settle(old, now);
      now.dataset.was = was;
    }
    dress(document);
    fetched.clear();
    if (plots.size > 0) await drawAll();
  };

  dress(document);
  document.querySelectorAll('figure.plot .surface').forEach((s) => sizes.observe(s));
  drawAll();
  const every = Number(document.querySelector('main')?.dataset.every);
  if (every > 0 && location.protocol.startsWith('http')) {
    setInterval(() => refresh().catch(() => { /* the next refresh may succeed */ }), every * 1000);
  }
})();
