// The canvas of a picture with nodes and edges: zoom, drag, and the keyboard.

import { h, s } from './dom.js';

const GAP = 6;
const MIN = 0.15, MAX = 2.5, SMALLEST = 0.8;

// short cuts the beginning of a text: keys differ in their ends.
export const short = (text, most) => (text.length <= most ? text : '…' + text.slice(1 - most));

// curve is the path of an edge through points.
export function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const mid = { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    path += i === rest.length - 2 ? ` Q${rest[i].x},${rest[i].y} ${rest[i + 1].x},${rest[i + 1].y}` : ` Q${rest[i].x},${rest[i].y} ${mid.x},${mid.y}`;
  }
  return path;
}

export const marker = (id) => s('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' },
  s('path', { d: 'M0,0.8 L7,4 L0,7.2 z', class: id }));

// canvas returns an element with a picture. picture: label, its name; size, width and height; defs,
// below, edges: elements from back to front, edges with data-from and data-to; nodes: { id, at,
// element, open(), selected }, where at is the centre with width and height; share, the part of the
// height of the window that it may have; smallest, the scale at which it is still read; start,
// a point to show if no node is selected; former, the element of the same picture that it replaces:
// what was in view stays in view.
export function canvas({ label, size: { width, height }, defs, below = [], edges, nodes, share = 0.46, smallest = SMALLEST, start, former }) {
  const view = { x: 0, y: 0, w: width, h: height };
  const svg = s('svg', { class: 'graph', role: 'group', 'aria-label': label, preserveAspectRatio: 'xMidYMid meet' },
    s('defs', {}, defs), below, edges, nodes.map((n) => n.element));
  const apply = () => svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
  const frame = h('div', { class: 'graph-frame' }, svg);

  // fit shows all of the graph, but neither larger than life nor too small to read: then
  // it shows the part around the selected value, or the beginning.
  const selected = nodes.find((n) => n.selected);
  const fit = (least) => {
    const available = svg.getBoundingClientRect().width || 900, most = Math.max(260, Math.min(1200 * share, innerHeight * share));
    const scale = Math.min(1, Math.max(least, Math.min(available / width, most / height)));
    const tall = Math.max(170, Math.min(most, height * scale));
    svg.style.height = `${tall}px`;
    view.w = available / scale;
    view.h = tall / scale;
    const place = (size, part, at) => (size <= part ? (size - part) / 2 : Math.min(Math.max(0, at - part / 2), size - part));
    view.x = place(width, view.w, (selected?.at ?? start)?.x ?? 0);
    view.y = place(height, view.h, (selected?.at ?? start)?.y ?? 0);
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
  const reveal = ({ x, y, width: w, height: t }) => {
    const inside = (at, size, from, length) => at - size / 2 >= from && at + size / 2 <= from + length;
    if (inside(x, w, view.x, view.w) && inside(y, t, view.y, view.h)) return;
    view.x = x - view.w / 2;
    view.y = y - view.h / 2;
    apply();
  };
  const button = (text, label, act) => h('button', { type: 'button', class: 'quiet', 'aria-label': label, title: label, onclick: act }, text);
  frame.append(h('div', { class: 'zoom' }, button('+', 'Zoom in', () => zoom(1.3)), button('−', 'Zoom out', () => zoom(1 / 1.3)), button('⤢', 'Show the whole graph', () => fit(MIN))));

  for (const n of nodes) {
    n.element.addEventListener('click', () => { if (!frame.dataset.moved) n.open(); });
    n.element.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); n.open(); }
      if (e.key.startsWith('Arrow')) { e.preventDefault(); nearest(nodes, n, e.key)?.element.focus(); }
    });
    const related = (on) => edges.forEach((e) => {
      if (e.dataset.from === n.id || e.dataset.to === n.id) e.classList.toggle('near', on);
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
  let before = 0;
  if (former) {
    Object.assign(view, former.view);
    svg.style.height = former.firstChild.style.height;
    before = Math.round(former.clientWidth);
    apply();
  } else {
    fit(smallest);
  }
  frame.view = view;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now !== before) { before = now; fit(smallest); }
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
