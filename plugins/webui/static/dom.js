// Elements, formats and the parts that several views use.

import { now } from './api.js';
import { shortKey, split } from './names.js';

const SVG = 'http://www.w3.org/2000/svg';

// fill sets attributes, properties that begin with "on", and children of an element.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'disabled') element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false && c !== ''));
  return element;
}

// h makes an HTML element.
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// s makes an SVG element.
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

const whole = new Intl.NumberFormat('en-US');

// number formats a number with separators.
export const number = (n) => whole.format(n);

// count formats a number with its noun.
export const count = (n, noun, plural = noun + 's') => `${number(n)} ${n === 1 ? noun : plural}`;

// compact formats a large number in few characters.
export const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }).format;

// si formats a rate with the prefix of its unit: 1.25 G.
export function si(v) {
  for (const [size, prefix] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) if (v >= size) return `${Number((v / size).toPrecision(3))} ${prefix}`;
  return `${Number(v.toPrecision(3))} `;
}

// duration formats seconds.
export function duration(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 2 : 1)} ms`;
  if (seconds < 120) return `${seconds.toFixed(2)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

// isTime reports whether a time is set.
export const isTime = (text) => Boolean(text) && !text.startsWith('0001-');

// nanoseconds are those since 1970; dates of JavaScript have milliseconds only.
const nanoseconds = (text) => BigInt(Date.parse(text.replace(/\.\d+/, ''))) * 1_000_000n + BigInt((/\.(\d{1,9})/.exec(text)?.[1] ?? '').padEnd(9, '0'));

// seconds returns the time between two times.
export const seconds = (from, to) => Number(nanoseconds(to) - nanoseconds(from)) / 1e9;

// age says how long ago a time is.
export function age(text) {
  if (!isTime(text)) return '';
  const old = Math.max(0, (now() - new Date(text)) / 1000);
  for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'm']]) {
    if (old >= size) return `${Math.floor(old / size)}${unit}`;
  }
  return `${Math.floor(old)}s`;
}

// time is an element with a time, in the zone of the browser.
export function time(text) {
  if (!isTime(text)) return h('span', { class: 'faint' }, 'unknown');
  const t = new Date(text);
  const day = t.toDateString() === new Date().toDateString() ? '' : t.toISOString().slice(0, 10) + ' ';
  const clock = t.toTimeString().slice(0, 8) + '.' + String(t.getMilliseconds()).padStart(3, '0');
  return h('time', { datetime: text, title: t.toISOString() }, day + clock);
}

// STATES are the states of values in the order of attention, with the sign that shows
// each of them besides its colour.
export const STATES = {
  FAILED: ['✕', 'bad'], INVALID: ['!', 'bad'], RETRYING: ['↻', 'warn'], MISSING: ['?', 'warn'],
  UNIMPLEMENTED: ['∅', 'warn'], PENDING: ['…', 'wait'], CONFIGURED: ['✓', 'good'], OBTAINED: ['◆', 'calm'],
  DISCOVERED: ['◇', 'calm'], REMOVED: ['−', 'none'], NONEXISTENT: ['·', 'none'],
};

export const signOf = (state) => (STATES[state] ?? ['·', 'none'])[0];
export const toneOf = (state) => (STATES[state] ?? ['·', 'none'])[1];

// worst returns the state of a group that needs attention most.
export const worst = (states) => Object.keys(STATES).find((state) => states[state]) ?? 'NONEXISTENT';

// badge shows a state as a sign and a word.
export function badge(state) {
  return h('span', { class: `badge ${toneOf(state)}` }, h('span', { 'aria-hidden': 'true' }, signOf(state)), ' ', state);
}

// stateBar shows how many values are in each state.
export function stateBar(states) {
  const total = Object.values(states).reduce((a, b) => a + b, 0) || 1;
  const text = Object.keys(STATES).filter((k) => states[k]).map((k) => `${number(states[k])} ${k}`).join(', ');
  const bar = h('span', { class: 'bar', role: 'img', 'aria-label': text, title: text });
  for (const state of Object.keys(STATES)) {
    if (!states[state]) continue;
    const part = h('span', { class: `fill ${toneOf(state)}` });
    part.style.flexGrow = String(Math.max(states[state] / total, 0.02));
    bar.append(part);
  }
  return bar;
}

// breakable lets the lines of a key end at its slashes.
const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, i) => (i ? [h('wbr'), part] : [part]));

// keyLink leads to a value. It shows its name, and the key as a tooltip.
export function keyLink(app, key, text) {
  return h('a', { href: app.hash({ key }), class: 'mono', title: key }, breakable(text ?? shortKey(key)));
}

// linked returns a text in which the keys of items are links.
export const linked = (app, text) => split(text ?? '').map((part) => (part.key ? keyLink(app, part.key) : part));

// emptyBox says why a view has nothing to show.
export const emptyBox = (...text) => h('p', { class: 'box faint' }, ...text);

// table makes a table with a caption for screen readers. Columns are [title, class].
export function table(caption, columns, rows, attributes) {
  const head = columns.map(([title, cls]) => h('th', { scope: 'col', class: cls }, title));
  const body = h('tbody', {}, rows);
  return h('div', { class: 'scroll' },
    h('table', attributes, h('caption', { class: 'hidden' }, caption), h('thead', {}, h('tr', {}, head)), body));
}

// row makes a row of a table; with open, Enter and a click on it open something.
export function row(columns, cells, attributes, open) {
  const tr = h('tr', open ? { ...attributes, tabindex: '0', class: `link ${attributes?.class ?? ''}` } : attributes,
    cells.map((cell, i) => h('td', { class: columns[i]?.[1] }, cell)));
  if (open) {
    tr.addEventListener('click', (e) => { if (!e.target.closest('a, button, input')) open(); });
    tr.addEventListener('keydown', (e) => { if (e.key === 'Enter' && e.target === tr) open(); });
  }
  return tr;
}

// arrows lets the arrow keys, Home and End move between the rows of a list.
export function arrows(container) {
  container.addEventListener('keydown', (e) => {
    const rows = [...container.querySelectorAll('tbody tr[tabindex]')];
    const at = rows.indexOf(e.target.closest('tr'));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[e.key];
    if (at < 0 || to === undefined || !rows[to]) return;
    e.preventDefault();
    rows[to].focus();
  });
}

// ask asks for confirmation in a dialog.
export function ask(title, text, action) {
  return new Promise((resolve) => {
    const dialog = h('dialog', { 'aria-labelledby': 'ask-title' },
      h('h2', { id: 'ask-title' }, title), h('p', {}, text),
      h('form', { method: 'dialog', class: 'actions' },
        h('button', { value: 'no', type: 'submit' }, 'Cancel'),
        h('button', { value: 'yes', type: 'submit', class: 'danger' }, action)));
    dialog.addEventListener('close', () => { dialog.remove(); resolve(dialog.returnValue === 'yes'); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// flatten returns the fields of a JSON value by their paths.
export function flatten(value, path = '', into = new Map()) {
  if (value !== null && typeof value === 'object' && Object.keys(value).length > 0) {
    for (const [name, v] of Object.entries(value)) {
      flatten(v, Array.isArray(value) ? `${path}[${name}]` : path ? `${path}.${name}` : name, into);
    }
  } else if (path) {
    into.set(path, JSON.stringify(value));
  }
  return into;
}

// fieldDiff lists the differences between two JSON values by field.
export function fieldDiff(before, after) {
  const a = flatten(before ?? {}), b = flatten(after ?? {});
  const lines = [];
  const line = (sign, name, field, ...text) =>
    lines.push(h('li', { class: name }, h('span', { class: 'sign' }, sign), h('span', {}, h('b', {}, field), ': ', ...text)));
  for (const field of new Set([...a.keys(), ...b.keys()])) {
    if (!a.has(field)) line('+', 'added', field, b.get(field));
    else if (!b.has(field)) line('−', 'removed', field, h('del', {}, a.get(field)));
    else if (a.get(field) !== b.get(field)) line('~', 'changed', field, h('del', {}, a.get(field)), ' → ', h('ins', {}, b.get(field)));
  }
  return lines.length ? h('ul', { class: 'diff' }, lines) : null;
}

// field labels an input.
export function field(label, input) {
  return h('label', { class: 'field' }, h('span', {}, label), input);
}
