// The view of plans: what a configuration would change, and the button that does it.

import { post, now, Failure } from './api.js';
import { h, number, count, badge, keyLink, linked, field, emptyBox } from './dom.js';
import { effectItems, effectCounts } from './effects.js';

const SHOWN = 300;
const KEPT = 5; // names of items that stay
const EXAMPLE = `vppConfig:
  interfaces:
  - name: loop1
    type: SOFTWARE_LOOPBACK
    enabled: true
    ipAddresses: [10.1.0.1/24]
`;

let kept = ''; // the text, while another view is shown
// preview is the request of the plan that is shown, for the picture of the network; undefined: there is none.
export let preview;
let waiting; // the change that waits for its confirmation, also after the page is loaded again

// remember sets the change that waits.
function remember(change) {
  waiting = change;
  try {
    if (change) sessionStorage.setItem('waiting ' + location.pathname, JSON.stringify(change));
    else sessionStorage.removeItem('waiting ' + location.pathname);
  } catch { /* the change is forgotten when the page is loaded again */ }
}

function recall() {
  try {
    waiting ??= JSON.parse(sessionStorage.getItem('waiting ' + location.pathname)) ?? undefined;
  } catch { /* nothing is known */ }
}

export async function show(app, main) {
  const view = new PlanView(app, main);
  await view.permissions();
  return { refresh: async () => {}, update: async () => {}, leave: () => view.leave() };
}

// patience is how long the agent waits for the values of a change before it answers: less
// than the user has to confirm it.
function patience(confirm) {
  const [, n, unit] = /^(\d+)([sm])$/.exec(confirm) ?? [];
  return n ? `${Math.min(10000, n * (unit === 'm' ? 60 : 1) * 250)}ms` : '10s';
}

class PlanView {
  constructor(app, main) {
    this.app = app;
    this.text = h('textarea', { 'aria-label': 'Configuration as YAML or JSON', spellcheck: 'false', value: kept, placeholder: EXAMPLE });
    this.text.addEventListener('input', () => { kept = this.text.value; this.outdated(); });
    this.text.addEventListener('keydown', (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) this.plan(); });
    this.replace = h('input', { type: 'checkbox' });
    this.replace.addEventListener('change', () => this.outdated());
    this.file = h('input', { type: 'file', class: 'hidden', accept: '.yaml,.yml,.json', 'aria-label': 'File with the configuration', tabindex: '-1' });
    this.file.addEventListener('change', async () => {
      const [file] = this.file.files;
      if (file) { this.text.value = kept = await file.text(); this.outdated(); }
    });
    this.planButton = h('button', { type: 'button', class: 'primary', title: 'Ctrl+Enter', onclick: () => this.plan() }, 'Plan');
    this.result = h('section', { 'aria-label': 'Plan', 'aria-live': 'polite' }, emptyBox('A plan shows what would change. It changes nothing.'));
    this.confirmation = h('div', { 'aria-live': 'assertive' });
    this.allowed = h('div');
    main.replaceChildren(h('h1', {}, 'Plan and apply'), this.confirmation, this.allowed, h('div', { class: 'plan' },
      h('section', { class: 'box', 'aria-label': 'Configuration' }, this.text,
        h('div', { class: 'actions' }, this.planButton,
          h('button', { type: 'button', onclick: () => this.file.click() }, 'Open a file …'), this.file,
          h('label', { class: 'field', title: 'Items of clients that are not in the text are removed.' }, this.replace, 'Replace all items of clients'))),
      this.result));
    recall();
    this.showConfirmation();
  }

  async permissions() {
    const [plan, apply] = await Promise.all([this.app.may('POST', '/scheduler/plan'), this.app.may('POST', '/scheduler/apply')]);
    this.mayApply = apply;
    if (!plan) {
      this.planButton.disabled = true;
      this.allowed.replaceChildren(h('p', { class: 'box wait' }, 'You may not plan changes: that needs the permission read or nbConfigValidation (users[].permissions in http.conf).'));
    } else if (!apply) {
      this.allowed.replaceChildren(h('p', { class: 'box wait' }, 'You may plan, but not apply changes: that needs the permission nbConfigWrite (users[].permissions in http.conf).'));
    }
  }

  // outdated says that the plan is not that of the text.
  outdated() {
    if (!this.planned) return;
    this.planned = preview = undefined;
    this.result.replaceChildren(emptyBox('The text has changed. Plan again.'));
  }

  async plan() {
    const body = this.text.value;
    this.planButton.disabled = true;
    this.result.replaceChildren(emptyBox('Planning …'));
    try {
      const answer = await post('/scheduler/plan', { limit: SHOWN, replace: this.replace.checked ? 'true' : '' }, body, 'application/yaml');
      this.planned = { body, replace: this.replace.checked, ...answer.Plan };
      preview = { body, replace: this.replace.checked };
      this.showPlan();
    } catch (err) {
      this.planned = preview = undefined;
      this.result.replaceChildren(this.problems(err));
    }
    this.planButton.disabled = false;
  }

  // problems lists what is wrong with the text, with links to the lines.
  problems(err) {
    if (!Array.isArray(err.body)) return h('p', { class: 'box error' }, linked(this.app, err.message));
    return h('div', { class: 'box error' }, h('h2', {}, count(err.body.length, 'error')), h('ul', { class: 'problems' }, err.body.map((p) => h('li', {},
      p.line ? h('button', { type: 'button', onclick: () => this.goto(p.line) }, `line ${p.line}`) : '', ' ', p.path ? h('b', {}, p.path, ': ') : '', linked(this.app, p.error)))));
  }

  goto(line) {
    const lines = this.text.value.split('\n');
    const start = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
  }

  showPlan() {
    const p = this.planned;
    const changes = p.Changed > 0, items = effectItems(this.app, p.Effects ?? []);
    const kept = (p.KeptItems ?? []).slice(0, KEPT);
    this.result.replaceChildren(
      h('section', { class: 'box' }, h('h2', {}, 'Plan'),
        h('p', {}, effectCounts(p.ItemCounts ?? {}, p.Changed ?? 0) || 'Nothing would change.'),
        p.Kept ? h('p', { class: 'faint' }, `${count(p.Kept, 'item')} given before ${p.Kept === 1 ? 'is not in the text and stays' : 'are not in the text and stay'}; "Replace all items of clients" removes ${p.Kept === 1 ? 'it' : 'them'}`,
          kept.length ? [': ', kept.map((key, i) => [i ? ', ' : '', keyLink(this.app, key)]), p.Kept > kept.length ? ` and ${number(p.Kept - kept.length)} more` : ''] : '') : '',
        this.overriding('will override', p.Overrides, p.Overridden),
        h('p', {}, h('a', { href: this.app.hash({ plan: '1' }, 'network', []) }, 'Show it in the network')),
        this.applyForm(changes)),
      items.length ? h('section', { class: 'card', 'aria-label': 'Items' }, h('ul', { class: 'ops' }, items),
        p.OmittedItems ? h('p', { class: 'legend faint' }, `and ${count(p.OmittedItems, 'more item')}`) : '') : '');
  }

  // overriding names the items of other sources that a change overrides.
  overriding(verb, list = [], all = 0) {
    if (!all) return '';
    return h('div', { class: 'box wait' }, h('ul', { class: 'plain' },
      list.map((o) => h('li', {}, keyLink(this.app, o.key), ` ${verb} the item of ${o.source}, ${o.location || 'at an unknown place'}`)),
      all > list.length ? h('li', {}, `and ${number(all - list.length)} more`) : ''),
    h('p', { class: 'faint' }, `To give ${all === 1 ? 'it' : 'them'} back, remove ${all === 1 ? 'the item' : 'these items'} with agentctl config delete.`));
  }

  applyForm(changes) {
    if (!changes) return '';
    if (!this.mayApply) return h('p', { class: 'faint' }, 'Applying needs the permission nbConfigWrite.');
    this.timer = h('select', {}, [['30s', '30 seconds'], ['60s', '1 minute'], ['5m', '5 minutes'], ['', 'none: keep the change at once']]
      .map(([value, text]) => h('option', { value }, text)));
    this.timer.value = '60s';
    this.revert = h('input', { type: 'checkbox', checked: true });
    this.applyButton = h('button', { type: 'button', class: 'primary', onclick: () => this.apply() }, 'Apply');
    return h('div', { class: 'actions' }, this.applyButton, field('Confirm within', this.timer),
      h('label', { class: 'field' }, this.revert, 'Revert if a value fails'));
  }

  async apply() {
    const p = this.planned, confirm = this.timer.value;
    this.applyButton.disabled = true;
    try {
      const applied = await post('/scheduler/apply', {
        fingerprint: p.Fingerprint, replace: p.replace ? 'true' : '', 'confirm-timeout': confirm, revert: this.revert.checked ? 'true' : '',
        wait: patience(confirm), results: 'problems',
      }, p.body, 'application/yaml');
      this.planned = preview = undefined;
      if (applied.confirm_by) remember({ id: applied.commit_id ?? '', until: Date.parse(applied.confirm_by), from: now() });
      this.result.replaceChildren(h('section', { class: 'box good' }, h('h2', {}, 'Applied'),
        h('p', {}, linked(this.app, applied.summary?.text), ' ', applied.seq_num !== undefined ? h('a', { href: '#/transactions/' + applied.seq_num }, `Transaction #${applied.seq_num}`) : ''),
        applied.results?.length ? h('ul', { class: 'plain' }, applied.results.map((r) => h('li', {}, r.state ? badge(r.state) : '', ' ', keyLink(this.app, r.key), ' ', linked(this.app, r.error ?? r.reason)))) : '',
        this.overriding('now overrides', applied.overrides, applied.overridden)));
      this.showConfirmation();
    } catch (err) {
      this.applyButton.disabled = false;
      const again = err.status === 409 && !err.body?.results ? h('p', {}, h('button', { type: 'button', onclick: () => this.plan() }, 'Plan again')) : '';
      this.result.prepend(h('div', { class: 'box error' }, 'Not applied: ', linked(this.app, err.message), again));
    }
  }

  // showConfirmation counts down until the change is reverted.
  showConfirmation() {
    clearInterval(this.tick);
    if (!waiting) return this.confirmation.replaceChildren();
    const rest = h('b', { role: 'timer', class: 'num' });
    const bar = h('progress', { max: waiting.until - waiting.from, 'aria-label': 'Time until the change is reverted' });
    this.confirmButton = h('button', { type: 'button', class: 'primary', onclick: () => this.confirm() }, 'Confirm: keep the change');
    this.confirmation.replaceChildren(h('div', { class: 'box wait' }, h('h2', {}, 'Confirm the change'),
      h('p', {}, 'The agent reverts the change in ', rest, ' unless you confirm it.'), bar, h('div', { class: 'actions' }, this.confirmButton)));
    const show = () => {
      const left = waiting.until - now();
      rest.textContent = `${Math.max(0, Math.ceil(left / 1000))} s`;
      bar.value = Math.max(0, left);
      if (left <= 0) {
        this.done('wait', 'The change was not confirmed in time. The agent has reverted it, unless another client confirmed it.');
        this.result.replaceChildren();
      }
    };
    this.tick = setInterval(show, 500);
    this.confirmButton.focus();
    show();
  }

  async confirm() {
    this.confirmButton.disabled = true;
    try {
      await post('/scheduler/confirm', { id: waiting?.id ?? '' });
      this.done('good', 'The change is confirmed.');
    } catch (err) {
      if (err.status === 409) return this.done('error', `Not confirmed: ${err.message}`);
      this.confirmButton.disabled = false; // there is still time
      this.app.report(new Failure(err.status, `Not confirmed: ${err.message}`));
    }
  }

  done(tone, text) {
    clearInterval(this.tick);
    remember(undefined);
    this.app.report(null);
    const focused = this.confirmation.contains(document.activeElement);
    this.confirmation.replaceChildren(h('p', { class: `box ${tone}`, tabindex: '-1' }, text));
    if (focused) this.confirmation.firstChild.focus();
  }

  leave() { clearInterval(this.tick); }
}
