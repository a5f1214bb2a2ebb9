// The view of transactions: the list, and one with its critical path as a timeline.

import { get } from './api.js';
import { shortKey, shortText } from './names.js';
import { effectItems, effectCounts } from './effects.js';
import { h, number, count, duration, seconds, time, badge, table, row, arrows, keyLink, linked, emptyBox, fieldDiff } from './dom.js';

const PAGE = 200;
const MOST_OPERATIONS = 500;

export async function show(app, main) {
  const [seq] = app.route.rest;
  const view = seq === undefined ? new List(app, main) : new One(app, main, seq);
  await view.refresh();
  return { refresh: () => view.refresh(), update: async () => {} };
}

const took = (t) => seconds(t.Came ?? t.Queued ?? t.Start, t.Stop);
const KINDS = { NBTransaction: 'configuration', SBNotification: 'notification', RetryFailedOps: 'retry' };
const kindOf = (t) => t.ResyncType && t.ResyncType !== 'NotResync' ? t.ResyncType.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase() : KINDS[t.TxnType] ?? t.TxnType;
const operations = (t) => Object.values(t.Operations ?? {}).reduce((a, b) => a + b, 0) + (t.OmittedOps ?? 0);

function summary(t) {
  const ops = Object.entries(t.Operations ?? {}).map(([name, n]) => `${number(n)} ${name.toLowerCase()}`);
  return ops.join(', ') || 'none';
}

class List {
  constructor(app, main) {
    this.app = app;
    this.body = h('section', { class: 'card' });
    arrows(this.body);
    main.replaceChildren(h('h1', {}, 'Transactions'), this.body);
  }

  async refresh() {
    const list = (await get('/scheduler/txn-history', { brief: 1, limit: PAGE })).reverse();
    const text = JSON.stringify(list);
    if (text === this.text) return;
    this.text = text;
    if (!list.length) return this.body.replaceChildren(emptyBox('There is no transaction in the history.'));
    const columns = [['#', 'num'], ['Time'], ['Kind'], ['Description'], ['Operations'], ['Failed', 'num'], ['Took', 'num']];
    const focused = this.body.contains(document.activeElement) && document.activeElement.closest('tr')?.dataset.seq;
    const rows = list.map((t) => row(columns, [
      h('a', { href: '#/transactions/' + t.SeqNum }, t.SeqNum), time(t.Start), h('span', { class: 'tag' }, kindOf(t)),
      linked(this.app, t.Description), summary(t), t.Failed ? h('b', { class: 'error-text' }, `✕ ${number(t.Failed)}`) : h('span', { class: 'faint' }, '0'),
      t.PreRecord ? 'running' : duration(took(t)),
    ], { 'data-seq': t.SeqNum }, () => { location.hash = '#/transactions/' + t.SeqNum; }));
    this.body.replaceChildren(table('Transactions, the latest first', columns, rows),
      ...(list.length === PAGE ? [h('p', { class: 'legend faint' }, `The last ${PAGE}. agentctl config history has all.`)] : []));
    if (focused) rows.find((r) => r.dataset.seq === focused)?.focus();
  }
}

class One {
  constructor(app, main, seq) {
    Object.assign(this, { app, main, seq });
  }

  async refresh() {
    if (this.complete) return; // it does not change any more
    const [t] = await get('/scheduler/txn-history', { 'seq-num': this.seq, brief: 1 });
    const back = h('p', { class: 'crumbs' }, h('a', { href: '#/transactions' }, '← All transactions'));
    const parts = [back, h('h1', {}, `Transaction #${t.SeqNum}`), this.facts(t)];
    if (t.PreRecord) {
      this.main.replaceChildren(...parts, emptyBox('The transaction is running.'));
      return;
    }
    const [path, full] = await Promise.all([
      get('/scheduler/txn-history', { 'seq-num': this.seq, 'critical-path': 1 }).catch((err) => err),
      operations(t) <= MOST_OPERATIONS ? get('/scheduler/txn-history', { 'seq-num': this.seq }) : null,
    ]);
    this.complete = true;
    this.main.replaceChildren(...parts, this.items(t), path instanceof Error ? emptyBox(linked(this.app, path.message)) : this.timeline(path), this.operations(t, full));
  }

  // items lists what the transaction did by item.
  items(t) {
    if (!t.Effects?.length) return '';
    return h('section', { class: 'card', 'aria-label': 'Items' }, h('h2', {}, 'Items'), h('ul', { class: 'ops' }, effectItems(this.app, t.Effects)),
      t.OmittedItems ? h('p', { class: 'legend faint' }, `and ${count(t.OmittedItems, 'more item')}`) : '');
  }

  facts(t) {
    const list = [
      ['Kind', kindOf(t)], ['Description', linked(this.app, t.Description)], ['Started', time(t.Start)],
      ['Took', t.PreRecord ? 'running' : duration(took(t))], ['Operations', summary(t)],
    ];
    if (t.ItemCounts) list.push(['Items', effectCounts(t.ItemCounts, operations(t), true)]);
    const states = Object.entries(t.States ?? {});
    if (states.length) list.push(['States', h('span', {}, states.map(([state, n]) => [badge(state), ` ${number(n)}  `]))]);
    if (t.Failed) list.push(['Failed', h('b', { class: 'error-text' }, count(t.Failed, 'operation'))]);
    if (t.Reverted) list.push(['Reverted', 'yes']);
    return h('section', { class: 'box' }, h('dl', { class: 'facts' }, list.map(([name, text]) => [h('dt', {}, name), h('dd', {}, text)])));
  }

  // timeline draws the phases and, below "execute", the operations of the critical path.
  timeline(path) {
    const total = path.Total || 1e-9;
    const lane = (parts) => {
      const el = h('div', { class: 'lane', 'aria-hidden': 'true' });
      for (const [name, from, length] of parts) {
        const part = h('span', { class: name });
        part.style.left = `${Math.min(100, 100 * from / total)}%`;
        part.style.width = `${Math.min(100 - 100 * from / total, 100 * length / total)}%`;
        el.append(part);
      }
      return el;
    };
    const track = (name, parts, text, title) => h('li', { class: 'track', title }, h('span', { class: 'name' }, name), lane(parts), h('span', { class: 'num' }, text));
    const tracks = [];
    let at = 0;
    for (const p of path.Phases) {
      tracks.push(track(h('span', {}, h('b', {}, p.Name), h('span', { class: 'faint' }, ' ', p.For)), [['phase', at, p.Took]], `${duration(p.Took)}  ${(100 * p.Share).toFixed(0)}%`, p.For));
      if (p.Name === 'execute') this.steps(path, at, track, tracks);
      at += p.Took;
    }
    const marks = [0, 0.25, 0.5, 0.75, 1].map((x) => {
      const mark = h('span', {}, duration(x * total));
      mark.style.left = `${100 * x}%`;
      return mark;
    });
    return h('section', { class: 'card' }, h('h2', {}, 'Critical path'),
      h('div', { class: 'timeline' },
        path.Operations ? h('p', { class: 'faint' }, `${count(path.Operations, 'operation')}; ${number(path.Length)} on the path that determined the time${path.Steps.length < path.Length ? `, the longest ${path.Steps.length} are shown` : ''}. Hatched: waiting.`) : '',
        h('div', { class: 'track', 'aria-hidden': 'true' }, h('span'), h('div', { class: 'axis' }, marks), h('span')),
        h('ol', { class: 'plain', 'aria-label': 'Phases and steps of the transaction' }, tracks)));
  }

  steps(path, begin, track, tracks) {
    let at = begin;
    for (const step of path.Steps) {
      if (step.Skipped) {
        tracks.push(track(h('span', { class: 'faint' }, `… ${count(step.Skipped, 'shorter step')}`), [['skipped', at, step.SkippedTook]], duration(step.SkippedTook)));
        at += step.SkippedTook ?? 0;
      }
      const ran = at + step.Waited;
      tracks.push(track(
        h('span', {}, h('span', { class: `op ${step.Operation}` }, step.Operation, ' '), keyLink(this.app, step.Key), step.Error ? h('span', { class: 'error-text' }, ' ✕ failed') : ''),
        [['waited', at, step.Waited], [step.Error ? 'ran failed' : 'ran', ran, step.Ran]],
        `${duration(step.Ran)}${step.Waited > step.Ran ? ` after ${duration(step.Waited)}` : ''}`,
        `${shortKey(step.Key)}: waited ${duration(step.Waited)}${step.For ? ` (${step.For})` : ''}, ran ${duration(step.Ran)}${step.Error ? ': ' + shortText(step.Error) : ''}`));
      at = ran + step.Ran;
    }
  }

  operations(t, full) {
    const ops = full?.Executed ?? t.Executed ?? [];
    const all = operations(t);
    const note = full ? '' : `${count(all, 'operation')}; shown are ${number(ops.length)} that failed or whose values are not in effect.`;
    if (!ops.length) return note ? emptyBox(note) : emptyBox('The transaction executed no operation.');
    const columns = [['Operation'], ['Value', 'key'], ['State'], ['Took', 'num'], ['Change']];
    const rows = ops.map((op) => row(columns, [
      h('span', { class: `op ${op.Operation}` }, op.Operation, op.IsRecreate ? ' (re-create)' : '', op.IsRevert ? ' (revert)' : ''),
      keyLink(this.app, op.Key), badge(op.NewState ?? 'NONEXISTENT'),
      op.NOOP ? h('span', { class: 'faint' }, 'no call') : op.Start ? duration(seconds(op.Start, op.End)) : '',
      h('span', {}, op.NewErrMsg ? h('div', { class: 'error-text' }, linked(this.app, op.NewErrMsg)) : '', fieldDiff(op.PrevValue?.ProtoMsgData, op.NewValue?.ProtoMsgData) ?? ''),
    ]));
    return h('section', { class: 'card' }, h('h2', {}, 'Operations'), note ? h('p', { class: 'legend faint' }, note) : '', table('Operations', columns, rows));
  }
}
