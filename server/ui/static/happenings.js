// What the stream told since the page is open, in sentences, and how the agent is.

const MOST = 500;

/** What happened, the newest first, and who wants to hear of it. */
export class Happenings {
  constructor() {
    this.told = [];
    this.count = 0;
    this.agent = undefined; // not asked yet; null while it does not answer
    this.listeners = new Set();
  }

  /** Have `heard` called after each change, until the returned function is called. */
  follow(heard) {
    this.listeners.add(heard);
    return () => this.listeners.delete(heard);
  }

  note(name, data) {
    this.add({ name, data, ...sentence(name, data) });
  }

  noteGap(lostAt) {
    const from = new Date(lostAt).toLocaleTimeString('en-GB');
    this.add({ name: 'page', data: {}, about: 'this page', link: null, text: `was not live since ${from}: what happened until now is not in this list` });
  }

  noteRestart(beganAt) {
    const at = new Date(beganAt).toLocaleTimeString('en-GB');
    this.add({ name: 'page', data: {}, about: 'the agent', link: '#/agent', text: `was started anew at ${at}` });
  }

  noteAgent(document) {
    this.agent = document;
    this.tell();
  }

  add(happening) {
    this.count += 1;
    this.told.unshift({ key: String(this.count), at: Date.now(), ...happening });
    if (this.told.length > MOST) this.told.length = MOST;
    this.tell();
  }

  tell() {
    for (const heard of this.listeners) heard();
  }
}

const podLink = (uid) => (uid ? `#/pods/${encodeURIComponent(uid)}` : null);
const full = (data) => [data.namespace, data.name].filter(Boolean).join('/');
const list = (keys) => (Array.isArray(keys) ? keys.join(', ') : Object.entries(keys ?? {}).map(([key, change]) => `${key} ${change}`).join(', '));

/** Return what an event is about, where the page shows that, and what happened. */
export function sentence(name, data) {
  const write = SENTENCES[name];
  if (write) return write(data);
  return { about: full(data), link: podLink(data.uid), text: Object.entries(data).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(', ') };
}

const SENTENCES = {
  pod: (data) => ({ about: full(data), link: podLink(data.uid), text: `${OPERATIONS[data.op] ?? data.op} (${data.source})` }),
  status: (data) => ({
    about: full(data),
    link: podLink(data.uid),
    text: [
      data.reason ? `${data.phase} (${data.reason})` : data.phase,
      data.ready ? 'ready' : 'not ready',
      ...(data.containers ?? []).map(containerWords),
    ].join(', '),
  }),
  object: (data) => ({ about: `${data.kind} ${full(data)}`, link: null, text: [data.change, list(data.keys)].filter(Boolean).join(': ') }),
  decision: (data) => ({
    about: data.pod,
    link: podLink(data.uid),
    text: `${data.action}${data.signal ? ` ${data.signal}` : ''}, since ${data.kind} ${full(data)} changed`,
  }),
  verdict: (data) => ({
    about: data.path,
    link: `#/manifests?search=${encodeURIComponent(data.path)}`,
    text: [data.verdict, data.reason, ...(data.warnings ?? [])].filter(Boolean).join(': '),
  }),
  probe: (data) => ({
    about: full(data),
    link: podLink(data.uid),
    text: `${data.probe} probe of ${data.container}: ${data.result ?? 'no answer yet'}`,
  }),
  volume: (data) => ({
    about: full(data),
    link: podLink(data.uid),
    text: (data.troubles ?? []).map((each) => `volume ${each.volume}: ${each.reason}`).join('; ') || 'all volumes are there',
  }),
  event: (data) => ({
    about: data.kind === 'Pod' ? full(data) : `${data.kind} ${full(data)}`,
    link: data.kind === 'Pod' ? podLink(data.uid) : null,
    text: `${data.reason}: ${data.message}${data.count > 1 ? ` (${data.count} times)` : ''}`,
  }),
  actor: (data) => ({
    about: data.name,
    link: `#/actors?search=${encodeURIComponent(data.name)}`,
    text: [data.state, data.lastError].filter(Boolean).join(': '),
  }),
};

/** Return of something past what it is about, where the page shows that, in a word what it was, and what is said of it. */
export function pastWords(data) {
  const { about, link } = sentence(data.event, data);
  if (data.event === 'object') return { about, link, what: data.change, said: list(data.keys) };
  if (data.event === 'decision') return { about, link, what: data.action, said: `since ${data.kind} ${full(data)} changed` };
  return { about, link, what: data.reason, said: data.message };
}

const OPERATIONS = { ADD: 'added', UPDATE: 'changed', REMOVE: 'removed', DELETE: 'is being deleted', RECONCILE: 'reconciled', PRESENT: 'is there' };

const containerWords = (each) =>
  `${each.name} ${each.reason || each.state}${each.restarts ? ` (${each.restarts} restarts)` : ''}`;
