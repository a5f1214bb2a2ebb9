// The picture of the network: boxes, nodes and links. The layout is that of dagre.

import { Graph, layout } from './vendor/dagre.js';
import { shortText } from './names.js';
import { s, number, si } from './dom.js';
import { canvas, curve, marker, short } from './canvas.js';

const WIDTH = 204, HEIGHT = 46, ROW = 3;

// LOOKS are the states of nodes and links, the worst first: a sign, a tone, and what they mean.
export const LOOKS = {
  failed: ['✕', 'bad', 'could not be created or changed'], missing: ['?', 'warn', 'not configured'],
  waiting: ['…', 'wait', 'waits for something'], down: ['▼', 'none', 'the link is down'], up: ['▲', 'good', 'works'],
};

// KINDS are the names of the kinds of nodes.
export const KINDS = {
  interface: 'interface', bond: 'bond', 'bridge-domain': 'bridge domain', vrf: 'VRF', 'far-end': 'far end', memif: 'memif socket', host: 'interface of the host',
};

// LINKS are the names of the kinds of links, from their beginning to their end.
export const LINKS = {
  member: 'port of', vrf: 'in', 'sub-interface': 'part of', over: 'over', cable: 'cable to', tunnel: 'tunnel to', unnumbered: 'address of',
  'cross-connect': 'sends to', mirror: 'mirrored to',
};

const CHANGES = { appears: '+', changes: '~', goes: '−' };

// kindOf is the type of an interface, or the kind of another node.
export const kindOf = (n) => (n.kind === 'interface' && n.type) || KINDS[n.kind];

// stateText says the state of a node, or the states in a group.
export const stateText = (n) => (n.count ? Object.keys(LOOKS).filter((k) => n.states[k]).map((k) => `${number(n.states[k])} ${k}`).join(', ') : n.state);

const changeText = (n) => n.change ?? Object.entries(n.changes ?? {}).map(([c, count]) => `${number(count)} ${c}`).join(', ');

// describe names a node for screen readers and as a tooltip.
const describe = (n) => [n.label, kindOf(n), stateText(n), shortText(n.reason ?? ''), n.addresses?.join(' '), changeText(n)].filter(Boolean).join(', ');

function arrange(net) {
  const g = new Graph({ multigraph: true, compound: true });
  g.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 60, marginx: 16, marginy: 28 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const b of net.boxes) g.setNode('box ' + b.id, {});
  for (const n of net.nodes) {
    g.setNode(n.id, { width: WIDTH, height: HEIGHT });
    if (n.box) g.setParent(n.id, 'box ' + n.box);
  }
  const linked = new Set();
  net.links.forEach((l) => {
    linked.add(l.from).add(l.to);
    g.setEdge(l.from, l.to, { width: 120, height: 14, labelpos: 'c' }, l.kind);
  });
  // Nodes without links are in rows instead of one long column.
  for (const b of net.boxes) {
    const alone = net.nodes.filter((n) => n.box === b.id && !linked.has(n.id));
    alone.forEach((n, i) => { if (i % ROW) g.setEdge(alone[i - 1].id, n.id, { weight: 0, minlen: 1 }, 'row'); });
  }
  layout(g);
  return g;
}

// outline is the shape of a kind of node.
function outline(kind) {
  const [w, t] = [WIDTH, HEIGHT];
  if (kind === 'bridge-domain') return s('path', { class: 'body', d: `M14,0 H${w - 14} L${w},${t / 2} L${w - 14},${t} H14 L0,${t / 2} Z` });
  return s('rect', { class: 'body', width: w, height: t, rx: { vrf: t / 2, 'far-end': 16, memif: 2 }[kind] ?? 7 });
}

function nodeElement(n, at, selected) {
  const [sign, tone] = LOOKS[n.state] ?? LOOKS.up;
  const classes = ['node', 'net', n.kind, tone, n.state, n.count && 'group', n.neighbour && 'neighbour', n.change && 'change-' + n.change, selected && 'selected'];
  const inset = n.kind === 'bridge-domain' || n.kind === 'vrf' ? 18 : 10;
  const change = CHANGES[n.change] ?? (n.changes ? '±' : '');
  const below = n.count ? stateText(n) : n.state === 'up' ? kindOf(n) : `${n.state} · ${kindOf(n)}`;
  const g = s('g', {
    class: classes.filter(Boolean).join(' '), transform: `translate(${at.x - WIDTH / 2},${at.y - HEIGHT / 2})`,
    tabindex: '0', role: 'button', 'aria-label': describe(n), 'data-id': n.id,
  }, s('title', {}, describe(n)));
  if (n.count || n.kind === 'bond') g.append(s('rect', { class: 'behind', x: 4, y: 4, width: WIDTH, height: HEIGHT, rx: 7 }));
  g.append(outline(n.kind),
    s('text', { class: 'sign', x: inset, y: 20, 'aria-hidden': 'true' }, sign),
    s('text', { class: 'name', x: inset + 18, y: 20 }, (change ? change + ' ' : '') + short(n.label, change ? 19 : 21)),
    s('text', { class: 'kind', x: inset + 18, y: 36 }, short(below, 27)));
  return g;
}

function linkElement(l, laid, names) {
  const arrow = ['mirror', 'cross-connect', 'unnumbered', 'over'].includes(l.kind);
  const text = `${names.get(l.from)} ${LINKS[l.kind]} ${names.get(l.to)}: ${l.state}${l.count > 1 ? `, ${number(l.count)} times` : ''}${l.reason ? `, ${shortText(l.reason)}` : ''}${l.change ? `, ${l.change}` : ''}`;
  const at = laid.points[Math.floor(laid.points.length / 2)];
  const label = [CHANGES[l.change], l.count > 1 ? '×' + number(l.count) : '', l.state === 'up' ? '' : LOOKS[l.state][0]].filter(Boolean).join(' ');
  return s('g', { class: `edge link ${l.kind} ${LOOKS[l.state][1]} ${l.change ? 'change-' + l.change : ''}`, 'data-from': l.from, 'data-to': l.to, 'data-count': l.count ?? 1 },
    s('title', {}, text), s('path', { d: curve(laid.points), 'marker-end': arrow ? 'url(#arrow)' : undefined }),
    s('text', { class: 'count', x: laid.x ?? at.x, y: (laid.y ?? at.y) + 4, 'text-anchor': 'middle', 'data-label': label }, label));
}

function boxElement(b, at) {
  const left = at.x - at.width / 2, top = at.y - at.height / 2;
  return s('g', { class: `net-box ${b.kind}` },
    s('rect', { x: left, y: top, width: at.width, height: at.height, rx: 10 }),
    s('text', { x: left + 12, y: top + 18 }, short(b.label, Math.floor(at.width / 8))));
}

// networkPicture returns an element with the network. options: selected, the ID of a node;
// open(node); label, the name of the picture; former, the element of the same nodes and links.
export function networkPicture(net, options) {
  const g = arrange(net);
  const names = new Map(net.nodes.map((n) => [n.id, n.label]));
  const size = g.graph();
  const nodes = net.nodes.map((n) => ({
    id: n.id, at: g.node(n.id), element: nodeElement(n, g.node(n.id), n.id === options.selected), open: () => options.open(n), selected: n.id === options.selected,
  }));
  const below = net.boxes.map((b) => {
    const at = { ...g.node('box ' + b.id) };
    at.y -= 10; // room for the name
    at.height += 20;
    return boxElement(b, at);
  });
  // What a plan changes is in view, else VPP.
  const first = net.nodes.find((n) => n.change), vpp = net.boxes.find((b) => b.kind === 'vpp');
  const start = first ? g.node(first.id) : vpp && g.node('box ' + vpp.id);
  const edges = net.links.map((l) => linkElement(l, g.edge(l.from, l.to, l.kind), names));
  return canvas({ label: options.label, size: { width: size.width, height: size.height + 24 }, defs: [marker('arrow')], below, edges, nodes, share: 0.62, smallest: 0.62, start, former: options.former });
}

// RATED are the kinds of links that carry the packets of the interface at one of their ends, in this order.
const RATED = ['cable', 'tunnel', 'member', 'sub-interface', 'over'];

// fitting cuts the end of a text: rates come first.
const fitting = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + '…');

// showRates writes the rates of interfaces and of groups, by the IDs of their nodes, on the links of a picture;
// on a node that has no such link. A cable shows the rates of its end in VPP. A link shows the sum of a group only
// if it stands for the links of all its members.
export function showRates(frame, net, rates) {
  const nodes = new Map(net.nodes.map((n) => [n.id, n]));
  const text = (r) => (r.rxPackets || r.txPackets ? `↓${si(r.rxBits)}bit/s ↑${si(r.txBits)}bit/s` : 'idle') + (r.drops || r.errors ? ` ✕${si(r.drops + r.errors)}/s` : '');
  const onLink = new Set();
  const order = (e) => RATED.findIndex((kind) => e.classList.contains(kind));
  for (const e of [...frame.querySelectorAll('.edge.link')].sort((a, b) => order(a) - order(b))) {
    const ends = [e.dataset.from, e.dataset.to].sort((a, b) => (nodes.get(b).box === 'vpp') - (nodes.get(a).box === 'vpp'));
    const end = order(e) >= 0 && ends.find((id) => rates.has(id) && !onLink.has(id) && Number(e.dataset.count) >= (nodes.get(id).count ?? 1));
    const label = e.querySelector('text'), title = e.querySelector('title');
    title.dataset.text ??= title.textContent;
    if (end) onLink.add(end);
    label.textContent = [label.dataset.label, end && text(rates.get(end))].filter(Boolean).join(' ');
    title.textContent = title.dataset.text + (end ? `\n${text(rates.get(end))} (${nodes.get(end).label})` : '');
  }
  for (const g of frame.querySelectorAll('.node')) {
    const r = rates.get(g.dataset.id), kind = g.querySelector('.kind');
    kind.dataset.kind ??= kind.textContent;
    kind.textContent = r && !onLink.has(g.dataset.id) ? fitting(`${text(r)} · ${kind.dataset.kind}`, 30) : kind.dataset.kind;
  }
}
