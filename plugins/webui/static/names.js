// The names of items, as in agentctl: MODEL/NAME in texts, keys in addresses and tooltips.

import { models } from './api.js';

let known = new Map(); // models by the prefixes of keys; empty: keys are shown

// learnNames loads the models. The views are shown after that.
export async function learnNames() { known = await models(); }

// modelOf returns the model of a key and its prefix.
function modelOf(key) {
  if (known.get(key)?.singleton) return [known.get(key), key];
  for (let i = key.indexOf('/'); i >= 0; i = key.indexOf('/', i + 1)) {
    const model = known.get(key.slice(0, i + 1));
    if (model) return [model, key.slice(0, i + 1)];
  }
  return [];
}

// shortKey returns MODEL/NAME for the key of an item, and other keys as they are.
export function shortKey(key) {
  const [model, prefix] = modelOf(key);
  if (!model || model.singleton && key !== prefix) return key;
  return model.singleton ? model.name : `${model.name}/${key.slice(prefix.length)}`;
}

// fullKey is the reverse of shortKey. A part of a name at its end may be missing.
export function fullKey(name) {
  for (const [prefix, model] of known) {
    if (model.singleton ? name === model.name : (name + '/').startsWith(model.name + '/')) return prefix + name.slice(model.name.length + 1);
  }
  return name;
}

const ITEM_KEYS = /(?<![\w/])config\/[^\s,;()"]*[^\s,;()":]/g;

// shortText returns a text with names instead of keys.
export const shortText = (text) => text.replace(ITEM_KEYS, shortKey);

// split returns the parts of a text, those that are keys of items as { key }.
export function split(text) {
  const parts = [];
  let at = 0;
  for (const m of text.matchAll(ITEM_KEYS)) {
    if (shortKey(m[0]) === m[0]) continue;
    parts.push(text.slice(at, m.index), { key: m[0] });
    at = m.index + m[0].length;
  }
  return [...parts, text.slice(at)];
}
