// The view of the network: what is linked to what, and its state.

import { get, post } from './api.js';
import { shortKey } from './names.js';
import { preview } from './plan.js';
import { h, number, count, keyLink, linked, emptyBox, table, row, arrows } from './dom.js';
import { networkPicture, showRates, LOOKS, KINDS, LINKS, kindOf, stateText } from './netpicture.js';

const LIMIT = 60; // nodes in the picture, more are grouped
const EVERY = 2000; // milliseconds between two requests of rates
const FILTERS = ['item', 'contains', 'kind', 'box'];
const COLUMNS = [['Node', 'node-name'], ['Kind'], ['Where'], ['State'], ['Links'], ['Reason', 'reason'], ['', 'model']];

export async function show(app, main) {
  const view = new Network(app, main);
  await view.load();
  view.follow();
  return { refresh: () => view.load(), update: () => view.load(), leave: () => view.leave() };
}

class Network {
  constructor(app, main) {
    this.app = app;
    this.search = h('input', { type: 'search', placeholder: 'Search names and addresses  ( / )', 'aria-label': 'Search names and addresses' });
    this.search.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => app.go({ contains: this.search.value.trim(), item: null, key: null }), 250);
    });
    this.crumbs = h('div', { class: 'crumbs' });
    this.notes = h('div');
    this.missing = h('div');
    this.picture = h('section', { class: 'card', 'aria-label': 'Picture of the network' });
    this.list = h('section', { class: 'card', 'aria-label': 'Nodes of the picture' });
    arrows(this.list);
    main.replaceChildren(h('h1', {}, 'Network'), h('div', { class: 'actions' }, this.search), this.crumbs, this.notes, this.missing, this.picture, this.list);
  }

  filters() {
    return Object.fromEntries(FILTERS.map((name) => [name, this.app.route.query.get(name) ?? '']));
  }

  // planned reports whether the picture is of the plan of the page Plan.
  planned() { return Boolean(this.app.route.query.get('plan') && preview); }

  async load() {
    const f = this.filters();
    if (document.activeElement !== this.search) this.search.value = f.contains;
    let net;
    try {
      net = this.planned() ? await post('/topology', { ...f, limit: LIMIT, replace: preview.replace ? 'true' : '' }, preview.body, 'application/yaml')
        : await get('/topology', { ...f, limit: LIMIT });
    } catch (err) {
      if (!f.item || err.status !== 404) throw err;
      net = { total: 0, boxes: [], nodes: [], links: [] };
    }
    if (this.left) return;
    this.show(f, net);
    if (!performance.getEntriesByName('first-view').length) performance.mark('first-view');
  }

  show(f, net) {
    this.net = net;
    this.showCrumbs(f, net);
    const simulated = net.simulated && net.simulatedLinux ? 'VPP and Linux are simulated: they forward no packets and have no counters.'
      : net.simulated || net.simulatedLinux ? `${net.simulated ? 'VPP' : 'Linux'} is simulated: it forwards no packets and has no counters.` : '';
    this.notes.replaceChildren(...(simulated ? [h('p', { class: 'box wait' }, simulated)] : []));
    const key = this.app.route.query.get('key');
    const selected = net.nodes.find((n) => n.items?.some((i) => i.key === key))?.id ?? f.item;
    const drawn = JSON.stringify([net, selected]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const shape = JSON.stringify([net.nodes.map((n) => n.id), net.links.map((l) => [l.from, l.to])]);
    const former = shape === this.shape ? this.frame : undefined;
    this.shape = shape;
    if (!net.nodes.length) {
      this.frame = undefined;
      this.picture.replaceChildren(emptyBox(FILTERS.some((name) => f[name]) ? 'No part of the network matches the filters.' : 'No interface is configured. A plan adds the first one: see Plan.'));
      this.list.replaceChildren();
      return;
    }
    const focused = this.picture.contains(document.activeElement) && document.activeElement.dataset.id;
    this.frame = networkPicture(net, { selected, former, label: 'Picture of the network', open: (n) => this.open(n) });
    if (this.rates) showRates(this.frame, net, this.rates);
    this.picture.replaceChildren(this.frame, legend());
    if (focused) this.picture.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    this.showList(net);
  }

  // follow asks for the rates of the interfaces in the picture, again and again.
  async follow() {
    if (!document.hidden && !this.left) {
      try {
        await this.loadRates();
      } catch (err) {
        if (err.status !== 0 && err.status !== 404) this.say(`No rates: ${err.message}`); // the notice says that the agent does not answer
        this.rates = undefined;
      }
    }
    if (!this.left) this.timer = setTimeout(() => this.follow(), EVERY);
  }

  async loadRates() {
    const counts = (n) => (n.count || n.items) && !(n.box === 'vpp' ? this.net.simulated : this.net.simulatedLinux);
    if (!this.net.nodes.some(counts)) return;
    if (!await this.app.may('GET', '/topology/rates')) return this.say('The rates of the links need the permission telemetry or stats (users[].permissions in http.conf).');
    const asked = JSON.stringify(this.filters());
    const answer = await get('/topology/rates', { ...this.filters(), limit: LIMIT });
    if (this.left || asked !== JSON.stringify(this.filters())) return;
    const missing = [['VPP', answer.vpp], ['Linux', answer.linux]].filter(([, of]) => of?.reason);
    this.say(missing.map(([name, of]) => `The links of ${name} show ${of.up ? 'only some' : 'no'} rates: ${of.reason}.`).join(' '));
    this.rates = new Map(answer.nodes.map((r) => [r.name, r]));
    if (this.frame) showRates(this.frame, this.net, this.rates);
  }

  // say notes what is missing.
  say(text) {
    if (text === this.said) return;
    this.said = text;
    this.missing.replaceChildren(...(text ? [h('p', { class: 'box wait' }, text)] : []));
  }

  // open shows what a node stands for.
  open(n) {
    const hub = n.kind !== 'interface' && n.items;
    if (n.count) this.app.go(n.hub ? { item: n.hub, contains: null, kind: null, box: null, key: null } : { kind: n.kind, box: n.box, item: null, key: null });
    else if (n.items) this.app.go(hub && this.net.grouped ? { item: n.id, contains: null, kind: null, box: null, key: n.items[0].key } : { key: n.items[0].key });
    else this.app.go({ item: n.id, contains: null, kind: null, box: null, key: null });
  }

  showCrumbs(f, net) {
    const label = (id) => net.nodes.find((n) => n.id === id)?.label ?? shortKey(id);
    const boxLabel = (id) => net.boxes.find((b) => b.id === id)?.label ?? id;
    const texts = { item: (v) => `neighbours of ${label(v)}`, contains: (v) => `“${v}”`, kind: (v) => KINDS[v] ?? v, box: (v) => `in ${boxLabel(v)}` };
    const chips = FILTERS.filter((name) => f[name]).map((name) => {
      const text = texts[name](f[name]);
      return h('span', { class: 'chip' }, text, h('a', { href: this.app.hash({ [name]: null, key: null }), 'aria-label': `Remove the filter ${text}`, title: 'Remove' }, '×'));
    });
    if (this.planned()) chips.push(this.planChip(net));
    this.crumbs.replaceChildren(h('b', {}, f.item ? '' : count(net.total, 'node') + (net.grouped ? ', in groups' : '')), ...chips);
  }

  // planChip counts what the plan does.
  planChip(net) {
    const counts = { appears: 0, changes: 0, goes: 0 };
    for (const n of net.nodes) {
      if (n.change) counts[n.change]++;
      for (const [change, c] of Object.entries(n.changes ?? {})) counts[change] += c;
    }
    const text = `with the plan: ${number(counts.appears)} appear, ${number(counts.changes)} change, ${number(counts.goes)} go`;
    return h('span', { class: 'chip' }, text, h('a', { href: this.app.hash({ plan: null }), 'aria-label': 'Show the network without the plan', title: 'Remove' }, '×'));
  }

  showList(net) {
    const names = new Map(net.nodes.map((n) => [n.id, n.label])), boxes = new Map(net.boxes.map((b) => [b.id, b.label]));
    const links = new Map(net.nodes.map((n) => [n.id, []]));
    for (const l of net.links) links.get(l.from).push(`${LINKS[l.kind]} ${names.get(l.to)}${l.count > 1 ? ` (${number(l.count)} times)` : ''}${l.state === 'up' ? '' : ', ' + l.state}`);
    const order = Object.keys(LOOKS);
    const rows = [...net.nodes].sort((a, b) => Boolean(b.change) - Boolean(a.change) || order.indexOf(a.state) - order.indexOf(b.state)).map((n) => row(COLUMNS, [
      h('span', {}, n.change ? h('b', {}, `${n.change}: `) : '', n.items ? keyLink(this.app, n.items[0].key, n.items.length > 1 ? n.id : n.items[0].name) : n.label),
      kindOf(n), boxes.get(n.box) ?? '',
      h('span', { class: `badge ${LOOKS[n.state][1]}` }, h('span', { 'aria-hidden': 'true' }, LOOKS[n.state][0]), ' ', stateText(n)),
      links.get(n.id).join(', '), linked(this.app, n.reason),
      n.count ? '' : h('a', { href: this.app.hash({ item: n.id, contains: null, kind: null, box: null }), 'aria-label': `Only ${n.label} with its neighbours` }, 'only this'),
    ], { 'data-key': n.items?.[0].key ?? '' }, () => this.open(n)));
    this.list.replaceChildren(table('Nodes of the picture', COLUMNS, rows, { class: 'nodes' }));
  }

  leave() {
    this.left = true;
    clearTimeout(this.typing);
    clearTimeout(this.timer);
  }
}

const legend = () => h('p', { class: 'legend faint' },
  Object.entries(LOOKS).reverse().map(([state, [sign, tone, means]]) => h('span', { title: means }, h('span', { class: `dot ${tone}`, 'aria-hidden': 'true' }, sign), ' ', state)),
  h('span', { class: 'line cable' }), ' cable', h('span', { class: 'line tunnel' }), ' tunnel', h('span', { class: 'line' }), ' member',
  h('span', { class: 'hint' }, 'Drag to move, Ctrl and the wheel to zoom.'));
