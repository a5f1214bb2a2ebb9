// What a plan would do, or a transaction did, by item. The agent groups the operations: an item has
// its changed fields, the derived values that matter, and the item because of which it is created again.

import { h, number, count, badge, keyLink, linked } from './dom.js';

// By kind: sign, name, and the words that count items of a plan and of a transaction.
const KINDS = {
  '+': ['+', 'CREATE', 'to create', 'created'],
  '~': ['~', 'UPDATE', 'to update', 'updated'],
  '-': ['−', 'DELETE', 'to delete', 'deleted'],
  '-/+': ['−/+', 'RECREATE', 'to create again', 'created again'],
  '?': ['?', 'WAIT', 'waiting', 'waiting'],
  '-?': ['−?', 'WITHDRAW', 'to remove until what they wait for exists', 'removed and waiting'],
  x: ['x', 'DROP', 'no longer configured', 'no longer configured'],
  '!': ['!', 'NEVER', 'that cannot become CONFIGURED', 'not in effect'],
  '=': ['=', 'LEFT', 'left as is', 'left as is'],
};
const CAUSES = { '+': 'is created', '-': 'is deleted', '-/+': 'is created again' };

// effectCounts counts items: "2 to create, 1 to delete, 1 waiting (7 operations)". An item of another kind
// of which a derived value waits also counts as waiting.
export function effectCounts(counts, operations, past) {
  const kinds = Object.keys(KINDS).filter((kind) => counts[kind]);
  if (!kinds.length) return '';
  return `${kinds.map((kind) => `${number(counts[kind])} ${KINDS[kind][past ? 3 : 2]}`).join(', ')} (${count(operations, 'operation')})`;
}

const because = (app, cause) => cause && h('span', { class: 'cause' }, 'because ', keyLink(app, cause.Key), ' ', CAUSES[cause.Kind] ?? 'changes',
  cause.Fields?.length ? ` (${cause.Fields.join(', ')})` : '');

const sign = (kind) => h('span', { class: `op ${KINDS[kind]?.[1] ?? ''}` }, `${KINDS[kind]?.[0] ?? kind} ${kind === '!' ? '' : KINDS[kind]?.[1] ?? ''}`);

const CHANGES = { '+': ['+', 'added'], '-': ['−', 'removed'], '~': ['~', 'changed'] };

function fieldChange(f) {
  const [mark, cls] = CHANGES[f.Kind];
  const text = () => {
    if (f.Secret) return 'a secret differs';
    if (f.Removed || f.Added) return [(f.Removed ?? []).map((e) => ['− ', h('del', {}, e), ' ']), (f.Added ?? []).map((e) => ['+ ', h('ins', {}, e), ' '])];
    if (f.Kind === '+') return f.New ?? '';
    if (f.Kind === '-') return h('del', {}, f.Old ?? '');
    return [h('del', {}, f.Old ?? ''), ' → ', h('ins', {}, f.New ?? '')];
  };
  return h('li', { class: cls }, h('span', { class: 'sign' }, mark),
    h('span', {}, h('b', {}, f.Path), ': ', text(), f.Forces ? h('span', { class: 'tag' }, 'forces re-creation') : ''));
}

// effectItems returns an item of a list for each item.
export function effectItems(app, effects) {
  return effects.map((it) => h('li', {},
    h('div', { class: 'op-head' }, sign(it.Kind), keyLink(app, it.Key), it.State ? badge(it.State) : '',
      it.Reverted ? h('span', { class: 'tag' }, 'reverted') : '', because(app, it.Because)),
    it.Reason ? h('div', { class: 'reason faint' }, linked(app, it.Reason)) : '',
    it.Error ? h('div', { class: 'reason error-text' }, linked(app, it.Error)) : '',
    it.Fields?.length ? h('ul', { class: 'diff' }, it.Fields.map(fieldChange)) : '',
    it.Parts?.length ? h('ul', { class: 'parts' }, it.Parts.map((p) => h('li', { class: 'op-head' }, sign(p.Kind), keyLink(app, p.Key), because(app, p.Because),
      p.Reason ? h('span', { class: 'faint' }, linked(app, p.Reason)) : '')),
      it.Following ? h('li', { class: 'faint' }, `and ${number(it.Following)} more for these`) : '',
      it.OmittedParts ? h('li', { class: 'faint' }, `and ${number(it.OmittedParts)} more`) : '') : ''));
}
