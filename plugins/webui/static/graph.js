// The picture of a graph. The layout is that of dagre.

import { Graph, layout } from './vendor/dagre.js';
import { h, s, number, compact, worst, signOf, toneOf, STATES, count } from './dom.js';

const WIDTH = 226, HEIGHT = 44, GAP = 6;
const MIN = 0.15, MAX = 2.5, SMALLEST = 0.8;

// short cuts the beginning of a text: keys differ in their ends.
const short = (text, most) => (text.length <= most ? text : '…' + text.slice(1 - most));

// describe names a node for screen readers and as a tooltip.
function describe(node) {
  const states = Object.keys(STATES).filter((k) => node.States[k]).map((k) => `${number(node.States[k])} ${k}`).join(', ');
  const kind = node.Descriptor || 'no value';
  if (node.Values === 1 && node.Key) return `${node.Key}, ${kind}, ${worst(node.States)}`;
  return `${node.Label || node.Prefix || 'values'}: ${count(node.Values, 'value')} of ${kind}: ${states}`;
}

function arrange(drawing) {
  const g = new Graph({ multigraph: true });
  g.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 64, marginx: 16, marginy: 16 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of drawing.Nodes) g.setNode(n.ID, { width: WIDTH, height: HEIGHT });
  for (const e of drawing.Edges ?? []) g.setEdge(e.From, e.To, {}, e.Relation);
  layout(g);
  if ((drawing.Edges ?? []).length === 0) grid(g, drawing.Nodes); // nothing to lay out
  else stack(g, drawing);
  return g;
}

// grid puts nodes without relations side by side.
function grid(g, nodes) {
  const columns = Math.max(1, Math.ceil(Math.sqrt(nodes.length / 3)));
  nodes.forEach((n, i) => Object.assign(g.node(n.ID), {
    x: 16 + WIDTH / 2 + (i % columns) * (WIDTH + 24), y: 16 + HEIGHT / 2 + Math.floor(i / columns) * (HEIGHT + 16),
  }));
  g.setGraph({ ...g.graph(), width: 32 + columns * (WIDTH + 24), height: 32 + Math.ceil(nodes.length / columns) * (HEIGHT + 16) });
}

// stack puts the nodes without relations below the others.
function stack(g, drawing) {
  const related = new Set(drawing.Edges.flatMap((e) => [e.From, e.To]));
  const alone = drawing.Nodes.filter((n) => !related.has(n.ID));
  if (!alone.length) return;
  const others = drawing.Nodes.filter((n) => related.has(n.ID)).map((n) => g.node(n.ID));
  const top = Math.min(...others.map((n) => n.y - n.height / 2)), edge = g.graph();
  const shift = 16 - top;
  for (const n of others) n.y += shift;
  for (const e of g.edges()) g.edge(e).points.forEach((p) => { p.y += shift; });
  const bottom = Math.max(...others.map((n) => n.y + n.height / 2), ...g.edges().flatMap((e) => g.edge(e).points.map((p) => p.y)));
  const columns = Math.max(1, Math.floor(edge.width / (WIDTH + 24)));
  alone.forEach((n, i) => Object.assign(g.node(n.ID), {
    x: 16 + WIDTH / 2 + (i % columns) * (WIDTH + 24), y: bottom + 28 + HEIGHT / 2 + Math.floor(i / columns) * (HEIGHT + 14),
  }));
  edge.height = bottom + 28 + Math.ceil(alone.length / columns) * (HEIGHT + 14) + 16;
}

function nodeElement(node, at, options) {
  const state = worst(node.States);
  const group = !node.Key;
  const text = group ? node.Label || node.Prefix || 'no descriptor' : node.Label || node.Key;
  const below = group ? `${compact(node.Values)} ${node.Values === 1 ? 'value' : 'values'}` : (node.Descriptor || 'no value');
  const classes = ['node', toneOf(state), group && 'group', node.Neighbour && 'neighbour', options.selected === node.Key && node.Key && 'selected'];
  const g = s('g', {
    class: classes.filter(Boolean).join(' '), transform: `translate(${at.x - WIDTH / 2},${at.y - HEIGHT / 2})`,
    tabindex: '0', role: 'button', 'aria-label': describe(node), 'data-id': node.ID,
  },
  s('title', {}, describe(node)));
  if (group && node.Values > 1) g.append(s('rect', { class: 'behind', x: 4, y: 4, width: WIDTH, height: HEIGHT, rx: 7 }));
  g.append(
    s('rect', { class: 'body', width: WIDTH, height: HEIGHT, rx: 7 }),
    s('text', { class: 'sign', x: 10, y: 19, 'aria-hidden': 'true' }, signOf(state)),
    s('text', { class: 'name', x: 27, y: 19 }, short(text, 24)),
    s('text', { class: 'kind', x: 27, y: 34 }, short(below, 28)));
  if (group) {
    const total = node.Values || 1;
    let x = 27 + 78;
    const width = WIDTH - x - 10;
    for (const name of Object.keys(STATES)) {
      const part = node.States[name] ? Math.max(2, width * node.States[name] / total) : 0;
      if (part) g.append(s('rect', { class: `part ${toneOf(name)}`, x, y: 29, width: Math.min(part, WIDTH - 10 - x), height: 5, rx: 1 }));
      x += part;
    }
  }
  return g;
}

function edgeElement(edge, laid) {
  const points = laid.points.map((p) => ({ ...p }));
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const mid = { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    path += i === rest.length - 2 ? ` Q${rest[i].x},${rest[i].y} ${rest[i + 1].x},${rest[i + 1].y}` : ` Q${rest[i].x},${rest[i].y} ${mid.x},${mid.y}`;
  }
  const derives = edge.Relation === 'derives';
  const text = `${derives ? 'derives' : 'depends on'}${edge.Label ? ` (${edge.Label})` : ''}${edge.Count > 1 ? `, ${number(edge.Count)} times` : ''}${edge.Unmet ? `, ${number(edge.Unmet)} not met` : ''}`;
  const g = s('g', { class: `edge ${derives ? 'derives' : 'depends'} ${edge.Unmet ? 'unmet' : ''}`, 'data-from': edge.From, 'data-to': edge.To },
    s('title', {}, text),
    s('path', { d: path, 'marker-end': `url(#arrow${edge.Unmet ? '-unmet' : ''})` }));
  if (edge.Count > 1) {
    const at = points[Math.floor(points.length / 2)];
    g.append(s('text', { class: 'count', x: at.x, y: at.y - 4, 'text-anchor': 'middle' }, compact(edge.Count)));
  }
  return g;
}

const marker = (id) => s('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' },
  s('path', { d: 'M0,0.8 L7,4 L0,7.2 z', class: id }));

// picture returns an element with a graph. options: selected, a key; open(node), called for
// a node that the user opens; label, the name of the picture.
export function picture(drawing, options) {
  const g = arrange(drawing);
  const { width, height } = g.graph();
  const view = { x: 0, y: 0, w: width, h: height };
  const nodes = drawing.Nodes.map((n) => ({ node: n, at: g.node(n.ID), element: nodeElement(n, g.node(n.ID), options) }));
  const edges = (drawing.Edges ?? []).map((e) => edgeElement(e, g.edge(e.From, e.To, e.Relation)));
  const svg = s('svg', { class: 'graph', role: 'group', 'aria-label': options.label, preserveAspectRatio: 'xMidYMid meet' },
    s('defs', {}, marker('arrow'), marker('arrow-unmet')), edges, nodes.map((n) => n.element));
  const apply = () => svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
  const frame = h('div', { class: 'graph-frame' }, svg);

  // fit shows all of the graph, but neither larger than life nor too small to read: then
  // it shows the part around the selected value, or the beginning.
  const selected = nodes.find((n) => n.node.Key && n.node.Key === options.selected);
  const fit = (smallest) => {
    const available = svg.getBoundingClientRect().width || 900, most = Math.max(260, Math.min(560, innerHeight * 0.46));
    const scale = Math.min(1, Math.max(smallest, Math.min(available / width, most / height)));
    const tall = Math.max(170, Math.min(most, height * scale));
    svg.style.height = `${tall}px`;
    view.w = available / scale;
    view.h = tall / scale;
    const place = (size, part, at) => (size <= part ? (size - part) / 2 : Math.min(Math.max(0, at - part / 2), size - part));
    view.x = place(width, view.w, selected?.at.x ?? 0);
    view.y = place(height, view.h, selected?.at.y ?? 0);
    apply();
  };
  const zoom = (factor, cx = view.x + view.w / 2, cy = view.y + view.h / 2) => {
    const box = svg.getBoundingClientRect();
    const scale = (box.width / view.w) * factor;
    if (scale < MIN || scale > MAX) return;
    view.x = cx - (cx - view.x) / factor;
    view.y = cy - (cy - view.y) / factor;
    view.w /= factor;
    view.h /= factor;
    apply();
  };
  // reveal moves the view to a node that is not in it.
  const reveal = ({ x, y }) => {
    const inside = (at, size, from, length) => at - size / 2 >= from && at + size / 2 <= from + length;
    if (inside(x, WIDTH, view.x, view.w) && inside(y, HEIGHT, view.y, view.h)) return;
    view.x = x - view.w / 2;
    view.y = y - view.h / 2;
    apply();
  };
  const button = (text, label, act) => h('button', { type: 'button', class: 'quiet', 'aria-label': label, title: label, onclick: act }, text);
  frame.append(h('div', { class: 'zoom' }, button('+', 'Zoom in', () => zoom(1.3)), button('−', 'Zoom out', () => zoom(1 / 1.3)), button('⤢', 'Show the whole graph', () => fit(MIN))));

  for (const n of nodes) {
    const open = () => options.open(n.node);
    n.element.addEventListener('click', () => { if (!frame.dataset.moved) open(); });
    n.element.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); open(); }
      if (e.key.startsWith('Arrow')) { e.preventDefault(); nearest(nodes, n, e.key)?.element.focus(); }
    });
    const related = (on) => edges.forEach((e) => {
      if (e.dataset.from === n.node.ID || e.dataset.to === n.node.ID) e.classList.toggle('near', on);
    });
    n.element.addEventListener('mouseenter', () => related(true));
    n.element.addEventListener('mouseleave', () => related(false));
    n.element.addEventListener('focus', () => { 
      related(true);
      if (n.element.matches(':focus-visible')) reveal(n.at); // not while it is clicked
    });
    n.element.addEventListener('blur', () => related(false));
  }
  drag(svg, frame, view, apply, zoom);
  fit(SMALLEST);
  let before = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now !== before) { before = now; fit(SMALLEST); }
  });
  observer.observe(frame);
  return frame;
}

// nearest finds the node beside another one in the direction of an arrow key.
function nearest(nodes, from, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best, cost = Infinity;
  for (const n of nodes) {
    const x = n.at.x - from.at.x, y = n.at.y - from.at.y;
    const along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
    if (along > GAP && along + 2 * across < cost) { best = n; cost = along + 2 * across; }
  }
  return best;
}

function drag(svg, frame, view, apply, zoom) {
  let start;
  svg.addEventListener('pointerdown', (e) => {
    start = { x: e.clientX, y: e.clientY, vx: view.x, vy: view.y, id: e.pointerId };
    delete frame.dataset.moved;
  });
  svg.addEventListener('pointermove', (e) => {
    if (!start || !e.buttons) return;
    const box = svg.getBoundingClientRect();
    const dx = e.clientX - start.x, dy = e.clientY - start.y;
    if (Math.abs(dx) + Math.abs(dy) < 5 && !frame.dataset.moved) return;
    if (!frame.dataset.moved) svg.setPointerCapture(start.id);
    frame.dataset.moved = '1';
    view.x = start.vx - dx * view.w / box.width;
    view.y = start.vy - dy * view.h / box.height;
    apply();
  });
  svg.addEventListener('pointerup', () => { start = undefined; });
  svg.addEventListener('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey) return; // the page scrolls
    e.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15,
      view.x + (e.clientX - box.left) / box.width * view.w, view.y + (e.clientY - box.top) / box.height * view.h);
  }, { passive: false });
}
