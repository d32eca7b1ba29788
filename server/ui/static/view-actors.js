// The supervision tree: its fixed part with every actor, dynamic ones as groups, and a search over all.

import { ask, Refresher } from './api.js';
import { announce, badgeCell, el, setAttribute, setText, table, textCell, timeOfDay } from './dom.js';

const TONES = { running: 'good', failed: 'bad', backoff: 'warn' };
const toneOf = (state) => TONES[state] ?? 'busy';

const columns = [
  { title: 'Actor', class: 'wide', cell: actorCell },
  { title: 'State', cell: badgeCell((actor) => [actor.stateWords ?? actor.state, actor.tone ?? toneOf(actor.state)]) },
  { title: 'Mailbox', class: 'number', cell: textCell((actor) => actor.mailbox.toLocaleString('en')) },
  { title: 'Restarts', class: 'number', cell: textCell((actor) => (actor.restarts ?? '–').toLocaleString('en')) },
  { title: 'Handled', class: 'number side', cell: textCell((actor) => (actor.handled ?? '–').toLocaleString('en')) },
  { title: 'Type', class: 'side', cell: textCell((actor) => actor.type) },
  { title: 'Last error', class: 'wide', cell: textCell((actor) => actor.lastError) },
];

function actorCell() {
  const name = el('span');
  return {
    element: name,
    update(actor) {
      setText(name, actor.name);
      setAttribute(name, 'class', `depth-${Math.min(6, actor.depth ?? 0)}`);
    },
  };
}

/** Return the rows of the tree in short: each actor below its supervisor, and groups below theirs. */
function rowsOf({ actors, groups }) {
  const children = new Map();
  for (const actor of actors) {
    if (!children.has(actor.parent)) children.set(actor.parent, []);
    children.get(actor.parent).push(actor);
  }
  const names = new Set(actors.map((actor) => actor.name));
  const rows = [];
  const walk = (actor, depth) => {
    rows.push({ ...actor, depth });
    for (const child of children.get(actor.name) ?? []) walk(child, depth + 1);
    for (const group of groups.filter((each) => each.parent === actor.name)) rows.push(...groupRows(group, depth + 1));
  };
  for (const actor of actors) if (!names.has(actor.parent)) walk(actor, 0);
  return rows;
}

function groupRows(group, depth) {
  const states = Object.entries(group.states);
  const words = states.map(([state, count]) => `${count.toLocaleString('en')} ${state}`).join(', ') || 'none';
  const isWell = states.every(([state]) => state === 'running');
  const tone = states.length === 0 ? 'plain' : group.isFailing ? 'bad' : isWell ? 'good' : 'warn';
  const row = { name: group.name, stateWords: words, tone, mailbox: group.mailbox, restarts: null, handled: null, type: 'dynamic', lastError: '', depth };
  return [row, ...group.notRunning.map((actor) => ({ ...actor, depth: depth + 1 }))];
}

export function actorsView({ parameters }) {
  const rows = table({ caption: 'Actors, each below its supervisor', columns, keyOf: (actor) => actor.name, empty: 'No actors are found.' });
  const search = el('input', { type: 'search', id: 'actor-search', autocomplete: 'off', spellcheck: 'false' });
  search.value = parameters.get('search') ?? '';
  const count = el('p', { class: 'count' });
  const trouble = el('p', { class: 'trouble', hidden: true });
  let failedAt = null;
  let isAsked = false;
  const refresher = new Refresher(async () => {
    let document;
    const wanted = search.value.trim();
    try {
      document = await ask('/ui/actors', { search: wanted, limit: 200 });
    } catch (error) {
      failedAt ??= Date.now();
      setText(trouble, `Not current since ${timeOfDay(failedAt)}: ${error.message}.`);
      trouble.hidden = false;
      return;
    }
    if (wanted !== search.value.trim()) return refresher.now();
    failedAt = null;
    trouble.hidden = true;
    const shown = wanted ? document.actors : rowsOf(document);
    rows.show(shown);
    const all = document.groups?.flatMap((group) => Object.values(group.states)).reduce((sum, each) => sum + each, document.actors.length);
    const more = wanted && document.next ? `, the first ${shown.length} of them` : '';
    setText(count, `${(wanted ? document.matching : all).toLocaleString('en')} actors${more}`);
    if (isAsked) announce(count.textContent);
    isAsked = false;
  }, { every: 2000 });
  let typing;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      isAsked = true;
      const wanted = search.value.trim();
      history.replaceState(null, '', wanted ? `#/actors?${new URLSearchParams({ search: wanted })}` : '#/actors');
      refresher.now();
    }, 200);
  });
  const controls = el(
    'div',
    { class: 'controls', role: 'search', 'aria-label': 'Search actors' },
    el('div', {}, el('label', { for: 'actor-search' }, 'Search all actors'), search),
    count,
  );
  return {
    title: 'Actors',
    element: el('div', { class: 'list' }, controls, trouble, rows.element),
    refresh: () => refresher.now(),
    hear: (name) => name === 'actor' && refresher.poke(),
    close() {
      clearTimeout(typing);
      refresher.close();
    },
  };
}
