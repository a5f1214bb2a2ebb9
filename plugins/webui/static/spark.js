// Sparklines: a value over the last hour, with gaps where it is unknown.

import { get } from './api.js';
import { h, s, si } from './dom.js';

const WIDTH = 180, HEIGHT = 28, SAMPLES = 240;

// SERIES are the titles and units of the series of the agent.
const SERIES = {
  rxPackets: ['received', 'packets/s'], txPackets: ['sent', 'packets/s'], rxBits: ['received', 'bit/s'], txBits: ['sent', 'bit/s'], drops: ['drops', 'packets/s'], errors: ['errors', 'packets/s'],
  vectorRate: ['vector rate', 'packets per call'], inputRate: ['input rate', 'packets/s'], buffersUsed: ['buffers in use', '%'], heapUsed: ['main heap in use', '%'],
};

// spark draws values, the newest at the right. Runs without a gap are lines, one value alone is a point.
function spark(values, most) {
  const x = (i) => WIDTH - 2 - (values.length - 1 - i) * (WIDTH - 4) / (SAMPLES - 1);
  const y = (v) => HEIGHT - 2 - (most ? v / most : 0) * (HEIGHT - 4);
  let path = '', before = null;
  values.forEach((v, i) => {
    if (v !== null) path += `${before === null ? 'M' : 'L'}${x(i).toFixed(1)},${y(v).toFixed(1)}${before === null && (values[i + 1] ?? null) === null ? 'h.1' : ''}`;
    before = v;
  });
  return s('svg', { class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, height: HEIGHT, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    s('line', { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }), s('path', { d: path }));
}

// row shows a series with its last and its largest value.
function row({ name, values }) {
  const [title, unit] = SERIES[name] ?? [name, ''];
  const known = values.filter((v) => v !== null), last = values.at(-1) ?? null;
  const most = Math.max(unit === '%' ? 100 : 0, ...known);
  const text = last === null ? 'unknown' : `${si(last)}${unit}`;
  return h('div', { class: 'series', role: 'img', 'aria-label': `${title}: ${text} now, at most ${known.length ? si(Math.max(...known)).trim() : 'unknown'} in the last hour` },
    h('span', { class: 'faint' }, title), spark(values, most), h('b', { class: 'num' }, text), h('span', { class: 'faint num' }, known.length ? `max ${si(Math.max(...known)).trim()}` : ''));
}

// sparklines returns the last hour of an interface of VPP or Linux, or of VPP without a name; why there is none
// instead, and null if the user may not see it.
export async function sparklines(app, name, from = 'vpp') {
  const path = `/${from}/history`;
  if (!await app.may('GET', path)) return null;
  const history = await get(path, { interface: name });
  const known = history.series.some((x) => x.values.some((v) => v !== null));
  if (known) return h('div', { class: 'sparks' }, history.series.map(row), history.up ? '' : h('p', { class: 'faint' }, `Now unknown: ${history.reason}`));
  if (!history.up) return h('p', { class: 'faint' }, `No counters: ${history.reason}.`);
  return h('p', { class: 'faint' }, `No counters yet: the first are here ${2 * history.every} s after the start of the agent or of the interface.${history.omitted ? ' Interfaces after the first 2,000 have none.' : ''}`);
}
