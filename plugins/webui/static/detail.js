// The panel with everything about one value.

import { get } from './api.js';
import { shortKey, shortText } from './names.js';
import { sparklines } from './spark.js';
import { h, badge, time, age, keyLink, linked, signOf, toneOf, fieldDiff, isTime } from './dom.js';

let shown = 0;

// showDetail shows a value in a panel. fresh moves the focus there.
export async function showDetail(app, panel, key, fresh) {
  const turn = ++shown;
  const heading = h('h2', { tabindex: '-1', class: 'mono', title: key }, shortKey(key));
  const close = h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close the panel', title: 'Close (Esc)', onclick: () => app.go({ key: null }) }, '✕');
  const head = h('div', { class: 'panel-head' }, heading, close);
  if (fresh) {
    panel.replaceChildren(head, h('p', { class: 'faint', role: 'status' }, 'Loading …'));
    heading.focus();
  }
  const settled = await Promise.allSettled([
    get('/scheduler/status', { key }), get('/scheduler/why', { key }), get('/scheduler/key-timeline', { key }),
    get('/configuration/items', { key }), get('/scheduler/graph', { format: 'json', key }), counters(app, key),
  ]);
  if (turn !== shown || panel.dataset.key !== key) return;
  const [status, why, past, items, graph, sparks] = settled.map((x) => (x.status === 'fulfilled' ? x.value : null));
  const errors = settled.filter((x) => x.status === 'rejected' && x.reason.status !== 404).map((x) => x.reason.message);
  const open = new Set([...panel.querySelectorAll('details[open]')].map((d) => d.dataset.name));
  const focused = document.activeElement === panel.querySelector('h2');
  const scroll = panel.scrollTop;
  panel.replaceChildren(head,
    ...[...new Set(errors)].map((text) => h('p', { class: 'box error' }, linked(app, text))),
    facts(app, key, status, past, graph), sparks ? section('The last hour', sparks) : '', whySection(app, why), valueSection(past), derivedSection(app, status),
    ...relations(app, graph, key), sources(items), historySection(app, past));
  if (!fresh) for (const d of panel.querySelectorAll('details')) d.open = open.has(d.dataset.name);
  if (fresh || focused) heading.focus();
  panel.scrollTop = fresh ? 0 : scroll;
}

const INTERFACES = { vpp: 'config/vpp/v2/interfaces/', linux: 'config/linux/interfaces/v2/interface/' };

// counters shows those of an interface of VPP or Linux. A simulated Linux has none.
async function counters(app, key) {
  const [from, prefix] = Object.entries(INTERFACES).find(([, p]) => key.startsWith(p)) ?? [];
  if (!from) return null;
  if (from === 'linux' && await app.may('GET', '/info/simulated') && (await get('/info/simulated')).simulated?.includes('linux')) return h('p', { class: 'faint' }, 'No counters: Linux is simulated.');
  return sparklines(app, key.slice(prefix.length), from);
}

const section = (title, ...content) => h('section', {}, h('h3', {}, title), content);

function facts(app, key, status, past, graph) {
  const now = past?.at(-1);
  const node = graph?.Nodes?.find((n) => n.Key === key);
  const value = status?.value ?? {};
  const list = [['State', badge(value.state ?? 'NONEXISTENT')]];
  if (shortKey(key) !== key) list.push(['Key', h('span', { class: 'mono' }, key)]);
  const error = value.error;
  if (error) list.push(['Error', h('span', { class: 'error-text' }, linked(app, error))]);
  if (node?.Descriptor) list.push(['Descriptor', node.Descriptor]);
  if (node?.Owner) list.push(['Owner', h('span', { title: OWNERS[node.Owner] }, `${node.Owner}: ${OWNERS[node.Owner]}`)]);
  const base = now?.Flags?.derived;
  if (base) list.push(['Derived from', keyLink(app, base)]);
  if (now && isTime(now.Since)) list.push(['Changed', h('span', {}, time(now.Since), ` (${age(now.Since)} ago)`)]);
  const txn = now?.Flags?.['last-update']?.replace('TXN-', '');
  if (txn) list.push(['Transaction', h('a', { href: app.hash({ key: null }, 'transactions', [txn]) }, '#' + txn)]);
  return h('dl', { class: 'facts' }, list.map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
}

const OWNERS = {
  none: 'the value does not exist', ours: 'the agent created it, changes and removes it', adopted: 'another process created it; the agent changes it',
  observed: 'another process created it; the agent only reads it', foreign: 'another process created it, and it is not configured',
};

function whySection(app, why) {
  if (!why) return '';
  const tree = (e) => h('li', {},
    h('span', { class: `dot ${toneOf(e.State)}`, title: e.State }, signOf(e.State)), ' ',
    e.Label ? h('span', { class: 'faint' }, shortText(e.Label), ': ') : '',
    keyLink(app, e.Key, shortText(e.Key)), ' ', h('span', { class: 'faint' }, e.State),
    e.Reason ? h('div', { class: 'reason' }, linked(app, e.Reason)) : '',
    e.Children?.length ? h('ul', {}, e.Children.map(tree)) : '');
  return section('Why', h('ul', { class: 'tree' }, tree(why)));
}

// yamlOf writes a JSON value like YAML, to be read.
function yamlOf(value, indent = '') {
  if (value === null || typeof value !== 'object') return typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value);
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  if (!entries.length) return list ? '[]' : '{}';
  return entries.map(([name, v]) => {
    const nested = v !== null && typeof v === 'object' && Object.keys(v).length > 0;
    const head = indent + (list ? '-' : name + ':');
    if (!nested) return `${head} ${yamlOf(v)}`;
    const body = yamlOf(v, indent + '  ');
    return list ? `${head} ${body.trimStart()}` : `${head}\n${body}`;
  }).join('\n');
}

function valueSection(past) {
  const value = past?.at(-1)?.Value;
  if (!value?.ProtoMsgName) return '';
  const metadata = Object.entries(past.at(-1).MetadataFields ?? {}).filter(([, v]) => v.some((x) => x !== ''));
  return section('Value',
    h('p', { class: 'faint' }, value.ProtoMsgName), h('pre', { class: 'code', tabindex: '0', 'aria-label': 'Value' }, yamlOf(value.ProtoMsgData ?? {})),
    metadata.length ? h('details', { 'data-name': 'metadata' }, h('summary', {}, 'Metadata'),
      h('dl', { class: 'facts' }, metadata.map(([name, v]) => [h('dt', {}, name), h('dd', { class: 'mono' }, v.join(', '))]))) : '');
}

function derivedSection(app, status) {
  const list = status?.derived_values ?? [];
  if (!list.length) return '';
  return section('Derived values', h('ul', { class: 'plain' }, list.map((v) => h('li', {},
    h('span', { class: `dot ${toneOf(v.state)}`, title: v.state }, signOf(v.state)), ' ', keyLink(app, v.key), ' ',
    h('span', { class: 'faint' }, v.state, linked(app, v.error ? ': ' + v.error : v.details?.length ? ': waits for ' + v.details.join(', ') : ''))))));
}

function relations(app, graph, key) {
  if (!graph?.Edges) return [];
  const nodes = new Map(graph.Nodes.map((n) => [n.ID, n]));
  const list = (edges, end) => h('ul', { class: 'plain' }, edges.map((e) => {
    const n = nodes.get(e[end]);
    const state = Object.keys(n.States)[0];
    return h('li', {}, h('span', { class: `dot ${toneOf(state)}`, title: state }, signOf(state)), ' ',
      n.Key ? keyLink(app, n.Key) : h('a', { href: app.hash({ descriptor: [n.Descriptor], key: null }, 'values', []) }, `${n.Values.toLocaleString('en-US')} of ${n.Descriptor || n.Label}`),
      e.Label ? h('span', { class: 'faint' }, ` ${shortText(e.Label)}`) : '', e.Unmet ? h('b', { class: 'error-text' }, ' not met') : '');
  }));
  const depends = graph.Edges.filter((e) => e.Relation === 'depends-on');
  const to = depends.filter((e) => e.From === key), from = depends.filter((e) => e.To === key);
  return [to.length ? section('Depends on', list(to, 'To')) : '', from.length ? section('Needed by', list(from, 'From')) : ''];
}

function sources(items) {
  const item = items?.[0];
  if (!item) return '';
  const one = (source, note) => h('li', {}, h('b', {}, source.source), note, source.location ? h('span', { class: 'mono' }, ' ', source.location) : '');
  return section('Sources', h('ul', { class: 'plain' }, one(item, ' in effect'), (item.shadowed ?? []).map((x) => one(x, ' overridden'))));
}

function historySection(app, past) {
  if (!past?.length) return '';
  const entries = past.map((now, i) => {
    const before = past[i - 1];
    const txn = now.Flags['last-update']?.replace('TXN-', '');
    return h('li', {}, time(now.Since), ' ', badge(now.Flags['value-state'] ?? 'NONEXISTENT'), ' ',
      txn ? h('a', { href: app.hash({ key: null }, 'transactions', [txn]) }, '#' + txn) : '',
      now.Flags.error ? h('div', { class: 'error-text' }, linked(app, now.Flags.error)) : '',
      before ? fieldDiff(before.Value?.ProtoMsgData, now.Value?.ProtoMsgData) ?? '' : '');
  });
  return section('History', h('ol', { class: 'history' }, entries.reverse()));
}
