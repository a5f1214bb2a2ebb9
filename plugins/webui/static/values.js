// The view of values: filters, the graph, the list.

import { get, models } from './api.js';
import { fullKey, shortKey } from './names.js';
import { h, number, count, badge, stateBar, signOf, toneOf, STATES, table, row, arrows, age, keyLink, linked, emptyBox } from './dom.js';
import { picture } from './graph.js';

const PAGE = 100;
const COLUMNS = [['Value', 'key'], ['Model', 'model'], ['State'], ['Changed', 'num'], ['Reason', 'reason']];

export async function show(app, main) {
  const view = new Values(app, main);
  await view.update();
  return view;
}

class Values {
  constructor(app, main) {
    this.app = app;
    this.pages = 1;
    this.names = new Map();
    this.search = h('input', { type: 'search', placeholder: 'Search names  ( / )', 'aria-label': 'Search names', autocomplete: 'off', spellcheck: 'false' });
    this.search.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => app.go({ q: this.search.value, key: null }), 200);
    });
    this.states = h('ul', { class: 'facet' });
    this.models = h('ul', { class: 'facet' });
    this.wide = matchMedia('(min-width: 1001px)'); // otherwise the filters would fill the window
    this.filters = h('details', { open: this.wide.matches }, h('summary', {}, 'Filters'),
      h('h2', {}, 'State'), this.states, h('h2', {}, 'Model'), this.models);
    this.wide.onchange = () => { this.filters.open = this.wide.matches; };
    this.crumbs = h('p', { class: 'crumbs', role: 'status' });
    this.graph = h('section', { class: 'card', 'aria-label': 'Graph' });
    this.list = h('section', { class: 'card', 'aria-label': 'List of values' });
    arrows(this.list);
    main.replaceChildren(h('div', { class: 'columns' },
      h('aside', { class: 'facets', 'aria-label': 'Filters' }, this.search, this.filters),
      h('div', { class: 'wide' }, h('h1', { class: 'hidden' }, 'Values'), this.crumbs, this.graph, this.list)));
  }

  leave() { this.wide.onchange = null; }

  filter() {
    const q = this.app.route.query;
    return { contains: q.get('q') ?? '', state: q.getAll('state'), descriptor: q.getAll('descriptor'), prefix: q.get('prefix') ?? '', key: q.get('key') ?? '' };
  }

  async update() {
    const f = this.filter();
    const selection = JSON.stringify([f.contains, f.state, f.descriptor, f.prefix]);
    const other = selection !== this.selection;
    this.selection = selection;
    if (other) this.pages = 1;
    if (this.search.value !== f.contains && document.activeElement !== this.search) this.search.value = f.contains;
    if (other) this.named = this.loadSummary(f);
    await Promise.all([this.named, other && this.loadList(f), this.loadGraph(f)]);
    this.mark();
    if (!performance.getEntriesByName('first-view').length) performance.mark('first-view');
  }

  async refresh() {
    const f = this.filter();
    await Promise.all([this.loadSummary(f), this.loadList(f), this.loadGraph(f)]);
    this.mark();
  }

  async loadSummary(f) {
    const [summary, names] = await Promise.all([
      get('/scheduler/summary', { groups: 1, limit: 0, contains: fullKey(f.contains), 'key-prefix': f.prefix }), models()]);
    this.names = new Map((summary.Groups ?? []).map((g) => [g.Descriptor, names.get(g.KeyPrefix)?.name]));
    this.showFacets(f, summary.Groups ?? []);
  }

  // modelOf returns the name of a model, or of the descriptor of derived values.
  modelOf(descriptor) { return this.names.get(descriptor) ?? descriptor ?? ''; }

  showFacets(f, groups) {
    const states = {}, selected = (list, one) => list.length === 0 || list.includes(one);
    let matching = 0;
    for (const g of groups) {
      for (const [state, n] of Object.entries(g.States)) {
        if (selected(f.descriptor, g.Descriptor)) states[state] = (states[state] ?? 0) + n;
        if (selected(f.descriptor, g.Descriptor) && selected(f.state, state)) matching += n;
      }
    }
    this.total = matching;
    const option = (name, value, chosen, content, n) => h('li', {}, h('button', {
      type: 'button', class: 'option', 'aria-pressed': String(chosen.includes(value)),
      onclick: () => this.app.go({ [name]: chosen.includes(value) ? chosen.filter((x) => x !== value) : [...chosen, value], key: null }),
    }, content, h('span', { class: 'num' }, number(n))));
    const focus = document.activeElement?.closest('.facet') && document.activeElement.dataset.value;
    const known = Object.keys(STATES).filter((x) => states[x] || f.state.includes(x));
    this.states.replaceChildren(...known.map((x) => tag(x, option('state', x, f.state,
      [h('span', { class: `dot ${toneOf(x)}`, 'aria-hidden': 'true' }, signOf(x)), h('span', { class: 'grow' }, x)], states[x] ?? 0))));
    const inStates = (g) => Object.entries(g.States).reduce((sum, [x, n]) => sum + (selected(f.state, x) ? n : 0), 0);
    const sorted = groups.map((g) => [g, inStates(g)]).filter(([g, n]) => n > 0 || f.descriptor.includes(g.Descriptor))
      .sort(([a], [b]) => Boolean(this.names.get(b.Descriptor)) - Boolean(this.names.get(a.Descriptor)) || this.modelOf(a.Descriptor).localeCompare(this.modelOf(b.Descriptor)));
    this.models.replaceChildren(...sorted.map(([g, n]) => tag(g.Descriptor, option('descriptor', g.Descriptor, f.descriptor,
      h('span', { class: 'grow', title: `descriptor ${g.Descriptor}` }, this.modelOf(g.Descriptor) || 'no descriptor', stateBar(g.States)), n))));
    if (focus) [...document.querySelectorAll('.facet button')].find((b) => b.dataset.value === focus)?.focus();
  }

  async loadGraph(f) {
    let drawing;
    const query = f.key ? { key: f.key } : { contains: fullKey(f.contains), state: f.state, descriptor: f.descriptor, prefix: f.prefix };
    try {
      drawing = await get('/scheduler/graph', { format: 'json', ...query });
    } catch (err) {
      if (!f.key || err.status !== 404) throw err;
      drawing = { Values: 0, Nodes: [], Edges: [] };
    }
    this.showCrumbs(f, drawing);
    const text = JSON.stringify([drawing, f.key]);
    if (text === this.drawn) return;
    this.drawn = text;
    if (!drawing.Nodes?.length) {
      this.graph.replaceChildren(emptyBox(f.key ? `There is no value ${shortKey(f.key)}. The panel says why.` : 'No value matches the filters.'));
      return;
    }
    this.graph.replaceChildren(picture(drawing, {
      selected: f.key, label: f.key ? `Graph of ${shortKey(f.key)} and its neighbours` : 'Graph of values',
      open: (node) => this.open(node),
    }), legend());
  }

  open(node) {
    if (node.Key) this.app.go({ key: node.Key });
    else if (node.Prefix) this.app.go({ prefix: node.Prefix, key: null });
    else if (node.Descriptor) this.app.go({ descriptor: [node.Descriptor], key: null });
  }

  showCrumbs(f, drawing) {
    const parts = [];
    const crumb = (text, change) => parts.push(h('span', { class: 'chip' }, text,
      h('a', { href: this.app.hash(change), 'aria-label': `Remove the filter ${text}`, title: 'Remove' }, '×')));
    if (f.contains) crumb(`“${f.contains}”`, { q: null, key: null });
    if (f.prefix) crumb(shortKey(f.prefix) + '…', { prefix: null, key: null });
    for (const x of f.state) crumb(x, { state: f.state.filter((y) => y !== x), key: null });
    for (const x of f.descriptor) crumb(this.modelOf(x), { descriptor: f.descriptor.filter((y) => y !== x), key: null });
    if (f.key) crumb(`neighbours of ${shortKey(f.key)}`, { key: null });
    const what = f.key ? '' : drawing.Grouped ? `${count(drawing.Values, 'value')}, in groups` : count(drawing.Values, 'value');
    this.crumbs.replaceChildren(h('b', {}, what), ...parts);
  }

  async loadList(f) {
    const query = { contains: fullKey(f.contains), state: f.state, descriptor: f.descriptor, 'key-prefix': f.prefix };
    const values = await get('/scheduler/status', { ...query, limit: Math.min(10000, PAGE * this.pages) });
    await this.named; // the list shows the names of models
    this.last = values.at(-1)?.value.key;
    const focused = this.list.contains(document.activeElement) && document.activeElement.closest('tr')?.dataset.key;
    this.rows = values.map((v) => this.rowOf(v));
    this.list.replaceChildren(...(values.length
      ? [table('Values', COLUMNS, this.rows, { class: 'values' }), values.length < this.total && this.more(query)].filter(Boolean)
      : [emptyBox('No value matches the filters.')]));
    if (focused) this.rows.find((r) => r.dataset.key === focused)?.focus();
  }

  rowOf(v) {
    const key = v.value.key;
    return row(COLUMNS, [
      h('span', {}, v.base ? h('span', { class: 'faint', title: `derived from ${shortKey(v.base)}` }, '↳ ') : '', keyLink(this.app, key)),
      this.modelOf(v.descriptor) || h('span', { class: 'faint' }, 'none'),
      badge(v.value.state), h('span', { title: v.since }, age(v.since)), linked(this.app, v.reason),
    ], { 'data-key': key }, () => this.app.go({ key }));
  }

  more(query) {
    const button = h('button', { type: 'button', class: 'more' }, `Show ${PAGE} more`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const values = await get('/scheduler/status', { ...query, limit: PAGE, after: this.last });
        this.pages++;
        this.last = values.at(-1)?.value.key ?? this.last;
        const rows = values.map((v) => this.rowOf(v));
        this.rows.push(...rows);
        this.list.querySelector('tbody').append(...rows);
        rows[0]?.focus();
        if (values.length < PAGE || this.rows.length >= this.total) button.remove();
      } catch (err) {
        this.app.report(err);
      }
      button.disabled = false;
    });
    return button;
  }

  // mark shows which value of the list is open.
  mark() {
    const key = this.app.route.query.get('key');
    for (const r of this.rows ?? []) {
      if (r.dataset.key === key) r.setAttribute('aria-selected', 'true');
      else r.removeAttribute('aria-selected');
    }
  }
}

function tag(value, item) {
  item.firstChild.dataset.value = value;
  return item;
}

const legend = () => h('p', { class: 'legend faint' },
  h('span', { class: 'line' }), ' depends on', h('span', { class: 'line unmet' }), ' not met', h('span', { class: 'line derives' }), ' derived value',
  h('span', { class: 'hint' }, 'Drag to move, Ctrl and the wheel to zoom.'));
