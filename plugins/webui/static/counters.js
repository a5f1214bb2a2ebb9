// The view of the counters of VPP, from the metrics of the agent.

import { get } from './api.js';
import { sparklines } from './spark.js';
import { h, number, compact, table, row, emptyBox } from './dom.js';

const EVERY = 2000;
const INTERFACE = 'vpp_interfaces_';

export async function show(app, main) {
  const view = new Counters(app, main);
  await view.load();
  return { refresh: async () => {}, update: async () => {}, leave: () => view.leave() };
}

// parse reads the text format of Prometheus: a list of [name, labels, value].
export function parse(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const m = /^(vpp_\w+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!m) continue;
    const labels = {};
    for (const l of (m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[l[1]] = l[2].replace(/\\n/g, '\n').replace(/\\(["\\])/g, '$1');
    samples.push([m[1], labels, Number(m[3])]);
  }
  return samples;
}

class Counters {
  constructor(app, main) {
    this.app = app;
    this.search = h('input', { type: 'search', placeholder: 'Search interfaces and nodes  ( / )', 'aria-label': 'Search interfaces and nodes' });
    this.search.addEventListener('input', () => this.draw());
    this.body = h('div');
    this.hour = h('section', { class: 'card', 'aria-label': 'The last hour of VPP' });
    main.replaceChildren(h('h1', {}, 'Counters of VPP'), h('div', { class: 'actions' }, this.search), this.hour, this.body);
    this.hour.hidden = true;
  }

  async load() {
    clearTimeout(this.timer);
    try {
      const text = await get('/metrics', {}, { text: true });
      this.before = this.now;
      this.now = { at: performance.now(), samples: parse(text) };
      this.draw();
      await this.showHour();
    } finally {
      if (!this.left) this.timer = setTimeout(() => (document.hidden ? this.load : this.again).call(this), EVERY);
    }
  }

  // showHour shows VPP over time. It changes every 15 seconds only.
  async showHour() {
    if (this.hourAt && performance.now() - this.hourAt < 15000) return;
    this.hourAt = performance.now();
    const sparks = this.value('vpp_stats_up') === 1 ? await sparklines(this.app) : null;
    this.hour.hidden = !sparks;
    this.hour.replaceChildren(h('h2', {}, 'The last hour'), sparks ?? '');
  }

  again() { this.load().catch((err) => this.app.report(err)); }

  leave() {
    this.left = true;
    clearTimeout(this.timer);
  }

  value(name) { return this.now.samples.find(([n]) => n === name)?.[2]; }

  draw() {
    if (this.value('vpp_stats_up') !== 1) {
      this.body.replaceChildren(emptyBox('VPP offers no counters now: it is simulated, not connected, or telemetry is disabled.'));
      return;
    }
    const part = this.search.value.toLowerCase();
    const tile = (title, name, format = number) => {
      const v = this.value(name);
      return v === undefined ? '' : h('div', { class: 'tile' }, h('b', {}, format(v)), h('span', {}, title));
    };
    const heap = (name) => this.now.samples.find(([n, l]) => n === name && l.heap === 'main heap')?.[2];
    const total = heap('vpp_memory_total'), used = heap('vpp_memory_used');
    this.body.replaceChildren(
      h('div', { class: 'tiles' }, tile('vector rate', 'vpp_vector_rate'), tile('packets received per second', 'vpp_input_rate', compact), tile('workers', 'vpp_worker_threads'),
        total ? h('div', { class: 'tile' }, h('b', {}, `${(100 * used / total).toFixed(0)}%`), h('span', {}, `of the main heap of ${compact(total)} bytes`)) : ''),
      this.interfaces(part), this.nodes(part));
  }

  interfaces(part) {
    const byName = new Map(), before = new Map();
    const key = (n, l) => `${n} ${l.index}`;
    for (const [n, l, v] of this.before?.samples ?? []) if (n.startsWith(INTERFACE)) before.set(key(n, l), v);
    const seconds = this.before ? (this.now.at - this.before.at) / 1000 : 0;
    for (const [n, l, v] of this.now.samples) {
      if (!n.startsWith(INTERFACE) || !`${l.name} ${l.internal_name}`.toLowerCase().includes(part)) continue;
      if (!byName.has(l.index)) byName.set(l.index, { labels: l, values: {}, rates: {} });
      const i = byName.get(l.index), short = n.slice(INTERFACE.length);
      i.values[short] = v;
      if (seconds && before.has(key(n, l))) i.rates[short] = Math.max(0, (v - before.get(key(n, l))) / seconds);
    }
    const columns = [['Interface'], ['In VPP'], ['Received', 'num'], ['per second', 'num'], ['Bytes', 'num'], ['Sent', 'num'], ['per second', 'num'], ['Bytes', 'num'], ['Drops', 'num'], ['Errors', 'num'], ['Punts', 'num']];
    const text = (v) => (v === undefined ? '' : number(v));
    const rate = (v) => (v === undefined ? '' : compact(v));
    const bad = (v) => (v ? h('b', { class: 'error-text' }, number(v)) : text(v));
    const rows = [...byName.values()].map(({ labels, values: v, rates: r }) => row(columns, [
      labels.name, h('span', { class: 'faint' }, `${labels.internal_name} (${labels.index})`), text(v.rx_packets), rate(r.rx_packets), compact(v.rx_bytes ?? 0),
      text(v.tx_packets), rate(r.tx_packets), compact(v.tx_bytes ?? 0), text(v.drops), bad((v.rx_errors ?? 0) + (v.tx_errors ?? 0)), text(v.punts),
    ]));
    return h('section', { class: 'card' }, h('h2', {}, 'Interfaces'), rows.length ? table('Counters of interfaces', columns, rows) : emptyBox('No interface.'));
  }

  nodes(part) {
    const columns = [['Node'], ['Counted'], ['Packets', 'num']];
    const rows = this.now.samples.filter(([n, l, v]) => n === 'vpp_nodes_counter' && v > 0 && `${l.item} ${l.reason}`.toLowerCase().includes(part))
      .sort((a, b) => b[2] - a[2]).slice(0, 200).map(([, l, v]) => row(columns, [l.item, l.reason, number(v)]));
    return h('section', { class: 'card' }, h('h2', {}, 'Nodes'), rows.length ? table('Counters of nodes', columns, rows) : emptyBox('No node counted anything.'));
  }
}
