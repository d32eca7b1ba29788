// What there is on the page: one view at a time, chosen by the fragment of the address, and the state of the stream.

import { ask, followSlowness, Refresher } from './api.js';
import { announce, el, setAttribute, setText, tick, timeOfDay } from './dom.js';
import { Happenings } from './happenings.js';
import { Stream } from './stream.js';
import { actorsView } from './view-actors.js';
import { agentView } from './view-agent.js';
import { eventsView } from './view-events.js';
import { manifestsView, objectsView } from './view-lists.js';
import { podView } from './view-pod.js';
import { podsView } from './view-pods.js';

const VIEWS = {
  '': podsView,
  manifests: manifestsView,
  objects: objectsView,
  actors: actorsView,
  agent: agentView,
  events: eventsView,
  pods: podView,
};

const COUNTED = new Set(['pod', 'status']);

const main = document.getElementById('main');
const happenings = new Happenings();
let view = null;
let isLive = false;
let slowSince = null;
let pageTag = null;
let startedAt = null;

/** Return what the address asks for: the name of a view, what it is about, and its parameters. */
function asked() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  let about = rest.join('/');
  try {
    about = decodeURIComponent(about);
  } catch {
    // Somebody typed it. It is looked for as it is.
  }
  return { name: Object.hasOwn(VIEWS, name) ? name : '', about, parameters: new URLSearchParams(query) };
}

function show() {
  const { name, about, parameters } = asked();
  const isFirst = view === null;
  view?.close();
  view = VIEWS[name]({ about, parameters, happenings, path: name ? `#/${name}` : '#/' });
  main.replaceChildren(el('h1', { id: 'title', tabindex: '-1' }, view.title), view.element);
  document.title = `${view.title} – actorlet`;
  for (const link of document.querySelectorAll('#views a')) {
    const isHere = link.getAttribute('href') === (name && name !== 'pods' ? `#/${name}` : '#/');
    setAttribute(link, 'aria-current', isHere ? 'page' : null);
  }
  if (!isFirst) document.getElementById('title').focus({ preventScroll: true });
  if (!isFirst) scrollTo(0, 0);
  view.refresh();
}

// The stream, and what is said of it.

const live = document.getElementById('live');
const banner = document.getElementById('banner');
const bannerText = document.getElementById('banner-text');
const bannerNext = document.getElementById('banner-next');
const tryNow = document.getElementById('try-now');
const replaced = document.getElementById('replaced');
let nextTry = null;
let lostAt = null;

/** Say what may be missing among the events, unless the agent still knew it. */
function noteGap() {
  if (lostAt !== null) happenings.noteGap(lostAt);
  lostAt = null;
}

function showNextTry() {
  if (isLive) {
    setText(bannerNext, '');
    return;
  }
  const left = Math.ceil((nextTry - Date.now()) / 1000);
  setText(bannerNext, left > 0 ? `The next try is in ${left} s.` : 'Trying now.');
}

/** Show whether what the page shows is how it is: the banner says why not. */
function showLiveness(trouble) {
  const word = !isLive ? 'not live' : slowSince !== null ? 'slow' : 'live';
  setText(live, word);
  setAttribute(live, 'data-tone', { live: 'good', slow: 'warn', 'not live': 'bad' }[word]);
  setAttribute(banner, 'data-tone', isLive ? 'warn' : 'bad');
  document.body.classList.toggle('stale', word !== 'live');
  banner.hidden = word === 'live';
  tryNow.hidden = isLive;
  setText(bannerText, trouble);
  showNextTry();
}

function hearState(state) {
  isLive = state.is === 'live';
  if (isLive && state.lostAt !== null) {
    announce('The page is live again.');
    lostAt = state.lostAt;
  }
  nextTry = state.next;
  showLiveness(isLive ? '' : `This page is not live since ${timeOfDay(state.lostAt)}: ${state.why}. What it shows may be old.`);
  // The stream is there before it is asked what there is: so nothing is missed in between.
  view?.refresh();
  if (isLive) agent.now();
}

followSlowness((since) => {
  slowSince = since;
  if (!isLive) return;
  showLiveness(since === null ? '' : `The agent owes this page an answer since ${timeOfDay(since)}: it is slow, or stopped. What the page shows may be old.`);
  if (since !== null) return;
  announce('The agent answers again.');
  view?.refresh();
});

/** Show what runs the pods where that is nothing, or cannot be used. */
function showRuntime(runtime) {
  runtimeBadge.hidden = !runtime || (runtime.ok && runtime.kind !== 'hollow');
  if (runtimeBadge.hidden) return;
  setText(runtimeBadge, runtime.ok ? runtime.text : 'the runtime cannot be used');
  setAttribute(runtimeBadge, 'title', runtime.text);
  setAttribute(runtimeBadge, 'data-tone', runtime.ok ? 'warn' : 'bad');
}

/** Note who answers: another process than before, or one whose page is another one. */
function noteAgent(document) {
  happenings.noteAgent(document);
  setText(node, `on ${document.node}`);
  showRuntime(document.runtime);
  const age = document.process?.ageSeconds;
  if (age !== undefined) {
    const began = Date.parse(document.now) - age * 1000; // both by the agent's clock, at one moment
    if (startedAt !== null && began - startedAt > 1000) happenings.noteRestart(began);
    startedAt = began;
  }
  pageTag ??= document.page;
  replaced.hidden = pageTag === document.page;
}

const stream = new Stream('/events?replay=false', {
  onState: hearState,
  onEvent: (name, data) => {
    if (name === 'state') {
      // What happened meanwhile follows, or nobody knows it any more.
      if (data.state === 'resumes') lostAt = null;
      else noteGap();
      return;
    }
    noteGap();
    happenings.note(name, data);
    view?.hear?.(name, data);
    if (COUNTED.has(name)) agent.poke(); // how many pods there are, and how many need a look
  },
});

const node = document.getElementById('node');
const runtimeBadge = document.getElementById('runtime');
const agent = new Refresher(async () => {
  try {
    noteAgent(await ask('/ui/agent'));
  } catch {
    happenings.noteAgent(null);
  }
}, { every: 5000 });

tryNow.addEventListener('click', () => {
  stream.open();
  document.getElementById('title').focus({ preventScroll: true });
});
document.getElementById('reload').addEventListener('click', () => location.reload());
document.getElementById('skip').addEventListener('click', () => main.focus());
addEventListener('online', () => stream.open());
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && !isLive) stream.open();
});
addEventListener('pageshow', (event) => event.persisted && stream.open());
addEventListener('pagehide', () => stream.close());
addEventListener('hashchange', show);
setInterval(() => {
  tick();
  if (!banner.hidden) showNextTry();
}, 1000);

show();
agent.poke();
stream.open();
