// The picture of a graph. The layout is that of dagre.

import { Graph, layout } from './vendor/dagre.js';
import { shortKey, shortText } from './names.js';
import { s, number, compact, worst, signOf, toneOf, STATES, count } from './dom.js';
import { canvas, curve, marker, short } from './canvas.js';

const WIDTH = 226, HEIGHT = 44;

// describe names a node for screen readers and as a tooltip.
function describe(node) {
  const states = Object.keys(STATES).filter((k) => node.States[k]).map((k) => `${number(node.States[k])} ${k}`).join(', ');
  const kind = node.Descriptor || 'no value';
  if (node.Values === 1 && node.Key) return `${shortKey(node.Key)}, ${kind}, ${worst(node.States)}`;
  return `${node.Label || shortKey(node.Prefix ?? '') || 'values'}: ${count(node.Values, 'value')} of ${kind}: ${states}`;
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
  const text = group ? node.Label || shortKey(node.Prefix ?? '') || 'no descriptor' : node.Label || shortKey(node.Key);
  const below = group ? `${compact(node.Values)} ${node.Values === 1 ? 'value' : 'values'}` : (node.Descriptor || 'no value');
  const classes = ['node', toneOf(state), group && 'group', node.Neighbour && 'neighbour', options.selected === node.Key && node.Key && 'selected'];
  const g = s('g', {
    class: classes.filter(Boolean).join(' '), transform: `translate(${at.x - WIDTH / 2},${at.y - HEIGHT / 2})`,
    tabindex: '0', role: 'button', 'aria-label': describe(node), 'data-id': node.ID,
  },
  s('title', {}, [describe(node), node.Key].filter(Boolean).join('\n')));
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
  const path = curve(laid.points);
  const derives = edge.Relation === 'derives';
  const text = `${derives ? 'derives' : 'depends on'}${edge.Label ? ` (${shortText(edge.Label)})` : ''}${edge.Count > 1 ? `, ${number(edge.Count)} times` : ''}${edge.Unmet ? `, ${number(edge.Unmet)} not met` : ''}`;
  const g = s('g', { class: `edge ${derives ? 'derives' : 'depends'} ${edge.Unmet ? 'unmet' : ''}`, 'data-from': edge.From, 'data-to': edge.To },
    s('title', {}, text),
    s('path', { d: path, 'marker-end': `url(#arrow${edge.Unmet ? '-unmet' : ''})` }));
  if (edge.Count > 1) {
    const at = laid.points[Math.floor(laid.points.length / 2)];
    g.append(s('text', { class: 'count', x: at.x, y: at.y - 4, 'text-anchor': 'middle' }, compact(edge.Count)));
  }
  return g;
}

// picture returns an element with a graph. options: selected, a key; open(node), called for
// a node that the user opens; label, the name of the picture.
export function picture(drawing, options) {
  const g = arrange(drawing);
  const nodes = drawing.Nodes.map((n) => ({
    id: n.ID, at: g.node(n.ID), element: nodeElement(n, g.node(n.ID), options), open: () => options.open(n),
    selected: Boolean(n.Key) && n.Key === options.selected,
  }));
  const edges = (drawing.Edges ?? []).map((e) => edgeElement(e, g.edge(e.From, e.To, e.Relation)));
  return canvas({ label: options.label, size: g.graph(), defs: [marker('arrow'), marker('arrow-unmet')], edges, nodes });
}
