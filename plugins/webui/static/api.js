// The requests of the pages to the agent. Paths are relative, so that the pages work
// behind a proxy that adds a prefix.

const base = new URL('..', document.baseURI);

// Failure is an answer that is an error. status is 0 if there was no answer.
export class Failure extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

// address returns the URL of an endpoint. Parameters may be lists; empty ones are left out.
export function address(path, parameters = {}) {
  const url = new URL(path.replace(/^\//, ''), base);
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') url.searchParams.append(name, String(one));
    }
  }
  return url;
}

// ahead is by how much the clock of the agent is ahead of the browser's, in milliseconds.
let ahead = 0;

// now is the time of the agent, in milliseconds since 1970. Answers say it in seconds, so
// smaller differences of the clocks are ignored.
export const now = () => Date.now() + ahead;

function compareClocks(answer) {
  const difference = Date.parse(answer.headers.get('Date')) - Date.now();
  if (Number.isFinite(difference)) ahead = Math.abs(difference) < 3000 ? 0 : difference;
}

async function request(method, path, { query, body, type, signal, text } = {}) {
  let answer;
  try {
    answer = await fetch(address(path, query), { method, body, signal, headers: type ? { 'Content-Type': type } : {} });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Failure(0, 'The agent does not answer.');
  }
  compareClocks(answer);
  const content = await answer.text();
  if (answer.ok && text) return content;
  let json;
  try {
    json = JSON.parse(content);
  } catch {
    if (answer.ok) throw new Failure(answer.status, `${path}: the answer is not JSON.`);
  }
  if (answer.ok) return json;
  const message = json?.error ?? (Array.isArray(json) ? `${json.length} errors` : `${answer.status} ${answer.statusText}`);
  if (answer.status === 401) document.dispatchEvent(new Event('unauthorized'));
  throw new Failure(answer.status, message, json);
}

export const get = (path, query, options) => request('GET', path, { query, ...options });
export const post = (path, query, body, type, text) => request('POST', path, { query, body, type, text });

let modelsByPrefix;

// models returns { name, singleton } of models by the prefixes of keys; it is empty if the user may
// not see them.
export function models() {
  modelsByPrefix ??= get('/info/models').then(
    (answer) => new Map(answer.models.map((m) => [m.KeyPrefix, { name: m.Name, singleton: Boolean(m.Singleton) }])),
    (err) => {
      if (err.status === 0) modelsByPrefix = undefined; // asked again when the agent answers
      return new Map();
    });
  return modelsByPrefix;
}
