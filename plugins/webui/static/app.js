// The frame of the pages: the address, the views, live changes, the theme, permissions.

import { get, post, address, Failure } from './api.js';
import { h } from './dom.js';
import { learnNames, shortText } from './names.js';
import { showDetail } from './detail.js';

const VIEWS = [
  ['network', 'Network', () => import('./network.js')],
  ['values', 'Values', () => import('./values.js')],
  ['transactions', 'Transactions', () => import('./transactions.js')],
  ['plan', 'Plan', () => import('./plan.js')],
  ['drift', 'Drift & orphans', () => import('./drift.js')],
  ['counters', 'Counters', () => import('./counters.js')],
];

const $ = (id) => document.getElementById(id);
const panel = $('panel');
let access; // promise of the endpoints that the user may use
let view; // the current view, with refresh(), and optional update(route) and leave()
let opener; // the element that had the focus before the panel opened

const app = {
  route: { view: 'network', rest: [], query: new URLSearchParams() },

  // hash returns an address with other parameters in the same view; null removes one.
  hash(changes, viewName = app.route.view, rest = app.route.rest) {
    const query = new URLSearchParams(viewName === app.route.view ? app.route.query : '');
    for (const [name, value] of Object.entries(changes)) {
      query.delete(name);
      for (const one of Array.isArray(value) ? value : [value]) if (one) query.append(name, one);
    }
    const text = query.toString();
    return '#/' + [viewName, ...rest].map(encodeURIComponent).join('/') + (text ? '?' + text : '');
  },

  go(changes, viewName, rest) { location.hash = app.hash(changes, viewName, rest); },

  // may reports whether the user may use an endpoint.
  async may(method, path) { return (await access).endpoints.includes(`${method} ${path}`); },

  // report shows an error; null removes it.
  report(err) {
    if (err?.name === 'AbortError') return;
    app.offline = err?.status === 0;
    $('notice').replaceChildren(...(err ? [h('p', { class: 'box error' }, shortText(err.message))] : []));
    if (err && !(err instanceof Failure)) console.error(err);
  },
};

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/').map(decodeURIComponent);
  return { view: VIEWS.some(([v]) => v === name) ? name : 'network', rest, query: new URLSearchParams(query ?? '') };
}

async function navigate() {
  const before = app.route;
  app.route = parse();
  app.report(null);
  const [name, title, load] = VIEWS.find(([v]) => v === app.route.view);
  for (const link of $('nav').children) {
    if (link.dataset.view !== name) link.removeAttribute('aria-current');
    else {
      link.setAttribute('aria-current', 'page');
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
  }
  const agent = $('agent').textContent;
  document.title = `${title} · ${agent}`;
  try {
    const same = view && before.view === name && before.rest.join() === app.route.rest.join();
    if (same && view.update) await view.update(app.route);
    else {
      view?.leave?.();
      view = null;
      const [module] = await Promise.all([load(), learnNames()]).catch(() => { throw new Failure(0, 'The agent does not answer.'); });
      if (app.route.view !== name) return; // the user is elsewhere by now
      view = await module.show(app, $('main'));
    }
  } catch (err) {
    app.report(err);
  }
  await detail();
}

// detail shows the panel of the value in the address, or hides it.
async function detail() {
  const key = app.route.query.get('key');
  if (!key) {
    if (!panel.hidden) {
      panel.hidden = true;
      panel.replaceChildren();
      // A live change may have replaced the row that opened the panel.
      const row = document.querySelector(`tr[data-key="${CSS.escape(panel.dataset.key)}"]`);
      const back = opener?.isConnected && opener !== document.body ? opener : row ?? $('main');
      back.focus();
    }
    document.body.classList.remove('with-panel');
    return;
  }
  if (panel.hidden) opener = document.activeElement;
  const fresh = panel.hidden || panel.dataset.key !== key;
  panel.hidden = false;
  panel.dataset.key = key;
  document.body.classList.add('with-panel');
  await showDetail(app, panel, key, fresh);
}

// Live changes. The agent reports that something changed; the view asks again, but not
// more often than a tenth of the time that this takes.
let due, refreshing = false, pause = 1000;

function changed() {
  due ??= setTimeout(refresh, pause);
}

async function refresh() {
  due = undefined;
  if (document.hidden || refreshing) {
    if (refreshing) changed();
    return;
  }
  refreshing = true;
  const began = performance.now();
  try {
    if (!view) await navigate(); // the agent did not answer before
    await view?.refresh?.();
    if (!panel.hidden) await showDetail(app, panel, panel.dataset.key, false);
    if (app.offline) app.report(null);
  } catch (err) {
    app.report(err);
  }
  pause = Math.max(1000, 10 * (performance.now() - began));
  refreshing = false;
}

const RECONNECT = 3000; // milliseconds

function watch() {
  const live = $('live');
  const say = (name, text) => { live.className = `live ${name}`; live.textContent = text; };
  let stream, again;
  const open = () => {
    stream = new EventSource(address('/scheduler/watch', { brief: 1 }));
    stream.onopen = () => { say('good', 'live'); changed(); };
    stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) closed(); else lost(); };
    stream.addEventListener('delta', changed);
  };
  const lost = () => {
    say('bad', 'reconnecting');
    if (!app.offline) app.report(new Failure(0, 'The agent does not answer. The page shows what was known before, and continues when the agent answers.'));
  };
  // closed finds out why the browser does not try again; browsers differ in when they do.
  const closed = async () => {
    try {
      const a = await get('/info/access');
      if (!a.endpoints.includes('GET /scheduler/watch')) return say('none', 'not live: not permitted');
      say('bad', 'reconnecting');
    } catch (err) {
      if (err.status === 401) return say('none', 'not live'); // the notice says it
      lost();
    }
    again = setTimeout(open, RECONNECT);
  };
  say('wait', 'connecting');
  open();
  document.addEventListener('visibilitychange', () => { if (!document.hidden) changed(); });
  addEventListener('pagehide', () => { clearTimeout(again); stream.close(); });
  addEventListener('pageshow', (e) => { if (e.persisted) open(); });
}

function theme() {
  const button = $('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const stored = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  const apply = () => {
    const now = stored() ?? (dark.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = now;
    const next = now === 'dark' ? 'light' : 'dark';
    button.textContent = now === 'dark' ? '☀' : '☾';
    button.setAttribute('aria-label', `Use the ${next} theme`);
    button.title = button.getAttribute('aria-label');
    button.onclick = () => {
      try { localStorage.setItem('theme', next); } catch { /* the choice lasts until the page is closed */ }
      apply();
    };
  };
  dark.addEventListener('change', apply);
  apply();
}

function keyboard() {
  document.addEventListener('keydown', (e) => {
    const typing = e.target.closest('input, textarea, select');
    if (e.key === 'Escape' && !document.querySelector('dialog[open]')) {
      if (typing?.type === 'search' && typing.value) return;
      if (!panel.hidden) app.go({ key: null });
    } else if (e.key === '/' && !typing) {
      const search = document.querySelector('main input[type=search]');
      if (search) { e.preventDefault(); search.focus(); search.select(); }
    }
  });
}

// loginAddress leads to the form, and from there back to the pages.
const loginAddress = (login) => address(login, { next: location.pathname });

async function logOut(login) {
  try {
    await post('/auth/logout', {}, '', undefined, true);
    location.assign(loginAddress(login));
  } catch (err) {
    app.report(err);
  }
}

function start() {
  theme();
  keyboard();
  $('nav').append(...VIEWS.map(([name, title]) => h('a', { href: '#/' + name, 'data-view': name }, title)));
  $('skip').addEventListener('click', (e) => { e.preventDefault(); $('main').focus(); });
  access = get('/info/access');
  access.then((a) => {
    $('user').replaceChildren(...(a.user ? [h('span', { title: 'the user of this page' }, a.user)] : a.login ? [h('a', { href: loginAddress(a.login) }, 'Log in')] : []));
    if (a.user && a.login) $('user').append(' ', h('button', { type: 'button', class: 'quiet', onclick: () => logOut(a.login) }, 'Log out'));
  }, app.report);
  get('/info/version').then((v) => {
    $('agent').textContent = v.App;
    $('agent').title = v.Version;
    document.title = document.title.replace(/ · .*$/, ` · ${v.App}`);
  }, () => {});
  document.addEventListener('unauthorized', async () => {
    const login = await access.then((a) => a.login, () => null) ?? '/auth/login';
    app.report(new Failure(401, 'The session has ended, or this needs a user.'));
    $('notice').firstChild?.append(' ', h('a', { href: loginAddress(login) }, 'Log in'));
  });
  addEventListener('hashchange', navigate);
  navigate().then(() => {
    watch();
    for (const [,, load] of VIEWS) load().catch(() => {}); // so that they open if the agent stops
  });
}

start();
