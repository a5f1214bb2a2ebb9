// The view of drift, orphans and quarantine.

import { get, post } from './api.js';
import { shortKey, shortText } from './names.js';
import { h, number, count, time, table, row, keyLink, linked, ask, emptyBox, isTime } from './dom.js';

export async function show(app, main) {
  const view = new Drift(app, main);
  await view.load();
  return { refresh: () => view.refresh(), update: async () => {} };
}

const KINDS = {
  missing: ['−', 'removed', 'is missing from the southbound'], differs: ['~', 'changed', 'differs in the southbound'],
  unexpected: ['+', 'added', 'exists in the southbound and was not expected'],
};

class Drift {
  constructor(app, main) {
    this.app = app;
    this.drift = h('section', { class: 'card', 'aria-label': 'Drift' });
    this.orphans = h('section', { class: 'card', 'aria-label': 'Orphans' });
    this.quarantine = h('section', { class: 'card', 'aria-label': 'Quarantine' });
    this.detect = h('button', { type: 'button', onclick: () => this.run(this.detect, () => get('/scheduler/drift', { detect: 1 })) }, 'Detect now');
    this.repair = h('button', { type: 'button', class: 'danger', onclick: () => this.askRepair() }, 'Repair');
    this.remove = h('button', { type: 'button', class: 'danger', onclick: () => this.askRemove() }, 'Remove the selected');
    main.replaceChildren(h('h1', {}, 'Drift and orphans'), this.drift, this.orphans, this.quarantine);
  }

  async load() {
    [this.mayRepair, this.mayRemove, this.mayRelease] = await Promise.all(['drift', 'orphans', 'quarantine'].map((name) => this.app.may('POST', `/scheduler/${name}`)));
    await Promise.all([this.last().then((r) => this.showDrift(r)), this.refresh()]);
  }

  // last returns the last detection; it is empty if there was none.
  async last() {
    try {
      return await get('/scheduler/drift');
    } catch (err) {
      if (err.status === 404) return {};
      throw err;
    }
  }

  async refresh() {
    if (this.orphans.querySelector('input:checked')) return; // the user selects
    const [orphans, quarantine] = await Promise.all([get('/scheduler/orphans'), get('/scheduler/quarantine')]);
    this.showOrphans(orphans.Orphans ?? []);
    this.showQuarantine(quarantine.Suspects ?? []);
  }

  async run(button, act) {
    button.disabled = true;
    this.app.report(null);
    try {
      this.showDrift(await act());
    } catch (err) {
      this.app.report(err);
    }
    button.disabled = false;
  }

  async askRepair() {
    if (!await ask('Repair the drift?', 'The agent reads the southbound again and changes what differs back to the configuration.', 'Repair')) return;
    await this.run(this.repair, async () => {
      const { Errors } = await post('/scheduler/drift', { repair: 1 });
      return { ...await get('/scheduler/drift', { detect: 1 }), Errors }; // what still differs
    });
  }

  showDrift(report) {
    const drifts = report.Drifts ?? [];
    const known = isTime(report.Stop);
    const columns = [['Kind'], ['Value', 'key'], ['Difference']];
    const rows = drifts.map((d) => row(columns, [
      h('span', { class: 'tag', title: KINDS[d.Kind]?.[2] }, `${KINDS[d.Kind]?.[0] ?? ''} ${d.Kind}`), keyLink(this.app, d.Key),
      d.Fields?.length ? h('ul', { class: 'diff' }, d.Fields.map((f) => h('li', { class: 'changed' }, h('span', { class: 'sign' }, '~'),
        h('span', {}, h('b', {}, f.Field), ': configured ', h('ins', {}, String(f.Believed)), ', found ', h('del', {}, String(f.Found)))))) : KINDS[d.Kind]?.[2] ?? '',
    ]));
    const unread = (report.Unread ?? []).filter((u) => !u.Never);
    this.drift.replaceChildren(h('h2', {}, 'Drift'), h('div', { class: 'legend' },
      h('span', {}, known ? [`${count(report.Values, 'value')} compared at `, time(report.Stop), drifts.length ? `; ${drifts.length === 1 ? '1 differs' : `${number(drifts.length)} differ`}.` : '; none differs.'] : 'The southbound was not compared yet.'),
      this.detect, this.mayRepair && drifts.length ? this.repair : ''),
    drifts.length ? table('Drift', columns, rows) : '',
    report.Errors?.length ? h('p', { class: 'box error' }, linked(this.app, report.Errors.join('\n'))) : '',
    unread.length ? h('p', { class: 'legend faint' }, 'Not read: ', unread.map((u) => `${u.Descriptor} (${shortText(u.Reason)})`).join(', ')) : '',
    drifts.length && !this.mayRepair ? h('p', { class: 'legend faint' }, 'You may not repair drift: that needs the permission POST /scheduler/drift.') : '');
  }

  showOrphans(list) {
    const text = JSON.stringify(list);
    if (text === this.orphanText) return;
    this.orphanText = text;
    const ours = list.filter((o) => o.Ours || o.Marked), foreign = list.filter((o) => !o.Ours && !o.Marked);
    const columns = [[''], ['Value', 'key'], ['Descriptor'], ['Why'], ['Changed']];
    const line = (o, box) => row(columns, [box, keyLink(this.app, o.Key), o.Descriptor,
      h('span', {}, o.Ours ? 'made by this agent' : o.Marked ? 'marked as an agent’s, not on record' : 'made by another process', o.Problem ? h('div', { class: 'error-text' }, linked(this.app, o.Problem)) : ''),
      isTime(o.Since) ? time(o.Since) : '']);
    this.remove.disabled = true;
    const boxOf = (o) => {
      const box = h('input', { type: 'checkbox', value: o.Key, 'aria-label': `Select ${shortKey(o.Key)}`, disabled: Boolean(o.Problem) || !this.mayRemove });
      box.addEventListener('change', () => { this.remove.disabled = !this.orphans.querySelector('input:checked'); });
      return box;
    };
    this.orphans.replaceChildren(h('h2', {}, 'Orphans'),
      h('div', { class: 'legend' }, h('span', {}, ours.length ? `${count(ours.length, 'value')} made by an agent and not configured any more.` : 'Every value that the agent made is configured.'),
        ours.length && this.mayRemove ? this.remove : '',
        ours.length && !this.mayRemove ? h('span', { class: 'faint' }, 'You may not remove them: that needs the permission POST /scheduler/orphans.') : ''),
      ours.length ? table('Orphans', columns, ours.map((o) => line(o, boxOf(o)))) : '',
      foreign.length ? h('details', {}, h('summary', { class: 'legend' }, `${count(foreign.length, 'value')} of other processes, which the agent leaves alone`), table('Values of other processes', columns, foreign.map((o) => line(o, '')))) : '');
  }

  async askRemove() {
    const keys = [...this.orphans.querySelectorAll('input:checked')].map((b) => b.value);
    if (!await ask(`Remove ${count(keys.length, 'value')}?`, keys.slice(0, 10).map(shortKey).join(', ') + (keys.length > 10 ? ` and ${keys.length - 10} more` : ''), 'Remove')) return;
    this.remove.disabled = true;
    try {
      const rest = await post('/scheduler/orphans', { remove: 1, key: keys });
      if (rest.Errors?.length) this.app.report(new Error(rest.Errors.join('\n')));
      this.showOrphans(rest.Orphans ?? []);
    } catch (err) {
      this.app.report(err);
    }
  }

  async askRelease(key) {
    if (!await ask('Try the value again?', `${shortKey(key)}: the southbound went down whenever the agent worked on this value. It may go down again.`, 'Release')) return;
    try {
      const rest = await post('/scheduler/quarantine', { release: 1, key: [key] });
      this.showQuarantine(rest.Suspects ?? []);
    } catch (err) {
      this.app.report(err);
    }
  }

  showQuarantine(list) {
    const columns = [['Value', 'key'], ['Southbound'], ['Operation'], ['Disconnects', 'num'], ['State'], ['']];
    const release = (s) => h('button', { type: 'button', 'aria-label': `Release ${shortKey(s.Key)}`, onclick: () => this.askRelease(s.Key) }, 'Release');
    const line = (s) => row(columns, [keyLink(this.app, s.Key), s.Southbound, s.Operation, String(s.Crashes?.length ?? 0),
      s.Quarantined ? 'in quarantine' : s.HeldBack ? 'held back' : 'under suspicion', (s.Quarantined || s.HeldBack) && this.mayRelease ? release(s) : '']);
    this.quarantine.replaceChildren(h('h2', {}, 'Quarantine'), list.length ? table('Quarantine', columns, list.map(line))
      : h('p', { class: 'legend' }, 'No value is in quarantine.'),
    list.some((s) => s.Quarantined) && !this.mayRelease ? h('p', { class: 'legend faint' }, 'You may not release values: that needs the permission POST /scheduler/quarantine.') : '');
  }
}
