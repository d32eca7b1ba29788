// A table of which the agent sends one page at a time, with a search. The address keeps what was searched for.

import { ask, Refresher } from './api.js';
import { announce, el, setAttribute, setText, table, timeOfDay } from './dom.js';

let numbers = 0;

/**
 * Return a view's part: `{element, refresh(), poke(), close()}`.
 *
 * `choices` are [value, words] of a filter called `choiceName`; `asked(state)` returns the parameters for the agent,
 * and `items(document)` the rows of its answer. `every` is in ms, null to load only after `poke`.
 */
export function pagedList({ path, home, parameters, columns, caption, noun, empty, keyOf, items, asked, choiceName, choices, every, limit = 50 }) {
  const id = `list-${(numbers += 1)}`;
  const state = { search: parameters.get('search') ?? '', choice: parameters.get('show') ?? '', after: [] };
  const search = el('input', { type: 'search', id: `${id}-search`, autocomplete: 'off', spellcheck: 'false' });
  search.value = state.search;
  const choice = choices && el('select', { id: `${id}-choice` }, ...choices.map(([value, words]) => el('option', { value }, words)));
  if (choice) choice.value = choices.some(([value]) => value === state.choice) ? state.choice : '';
  const count = el('p', { class: 'count' });
  const trouble = el('p', { class: 'trouble', hidden: true });
  const rows = table({ caption, columns, keyOf, empty });
  const previous = el('button', { type: 'button', on: { click: () => turn(-1) } }, 'Previous page');
  const next = el('button', { type: 'button', on: { click: () => turn(1) } }, 'Next page');
  const pager = el('nav', { class: 'pager', 'aria-label': `Pages of ${noun}`, hidden: true }, previous, next);
  let following = null;
  let isAsked = false;
  let newest = 0;
  let failedAt = null;

  const refresher = new Refresher(load, { every });

  async function load() {
    const turnOf = (newest += 1);
    const wanted = { search: state.search, after: state.after.at(-1) ?? '', limit, ...asked?.(state) };
    let document;
    try {
      document = await ask(path, wanted);
    } catch (error) {
      failedAt ??= Date.now();
      setText(trouble, `Not current since ${timeOfDay(failedAt)}: ${error.message}.`);
      trouble.hidden = false;
      return;
    }
    if (turnOf !== newest) return;
    failedAt = null;
    trouble.hidden = true;
    const found = items(document);
    if (found.length === 0 && state.after.length > 0) {
      state.after.pop(); // this page is gone
      refresher.now();
      return;
    }
    following = document.next ?? null;
    rows.show(found, document);
    const before = document.before ?? state.after.length * limit;
    const range = following || state.after.length ? `${(before + 1).toLocaleString('en')}–${(before + found.length).toLocaleString('en')} of ` : '';
    const ofAll = document.matching < document.total ? ` (of ${document.total.toLocaleString('en')})` : '';
    const text = `${range}${document.matching.toLocaleString('en')} ${document.matching === 1 ? noun.slice(0, -1) : noun}${ofAll}`;
    setText(count, text);
    pager.hidden = !following && state.after.length === 0;
    enable(previous, state.after.length > 0);
    enable(next, Boolean(following));
    if (isAsked) announce(text);
    isAsked = false;
  }

  // A button that is disabled loses the focus. One that only says so keeps it.
  function enable(button, is) {
    setAttribute(button, 'aria-disabled', is ? null : 'true');
  }

  function turn(step) {
    if (step > 0 && !following) return;
    if (step < 0 && state.after.length === 0) return;
    if (step > 0) state.after.push(following);
    else state.after.pop();
    following = null;
    again();
  }

  function again() {
    isAsked = true;
    newest += 1; // an answer that is under way is not for what is asked now
    refresher.now();
  }

  let typing;
  function changed() {
    clearTimeout(typing);
    typing = setTimeout(() => {
      state.search = search.value.trim();
      state.choice = choice?.value ?? '';
      state.after = [];
      const kept = new URLSearchParams();
      if (state.search) kept.set('search', state.search);
      if (state.choice) kept.set('show', state.choice);
      history.replaceState(null, '', kept.size ? `${home}?${kept}` : home);
      again();
    }, 200);
  }
  search.addEventListener('input', changed);
  choice?.addEventListener('change', changed);

  const controls = el(
    'div',
    { class: 'controls', role: 'search', 'aria-label': `Search ${noun}` },
    el('div', {}, el('label', { for: `${id}-search` }, `Search ${noun}`), search),
    choice && el('div', {}, el('label', { for: `${id}-choice` }, choiceName), choice),
    count,
  );
  return {
    element: el('div', { class: 'list' }, controls, trouble, rows.element, pager),
    refresh: () => refresher.now(),
    poke: () => refresher.poke(),
    close: () => {
      clearTimeout(typing);
      refresher.close();
    },
  };
}
