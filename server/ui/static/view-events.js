// What the stream told since the page is open, the newest first.

import { el, keep, setAttribute, setText, timeOfDay } from './dom.js';

const SHOWN = 200;

/** Return a list of happenings: `{element, close()}`. `isShown` chooses among them. */
export function happeningsList(happenings, { isShown = () => true, most = SHOWN, empty }) {
  const items = el('ol', { class: 'happenings' });
  const nothing = el('p', { class: 'nothing' }, empty);
  let frame = null;
  const render = () => {
    frame = null;
    const shown = happenings.told.filter(isShown).slice(0, most);
    keep(items, shown, (each) => each.key, makeHappening);
    nothing.hidden = shown.length > 0;
    items.hidden = shown.length === 0;
  };
  const unfollow = happenings.follow(() => {
    frame ??= setTimeout(render, 250);
  });
  render();
  return {
    element: el('div', {}, nothing, items),
    close() {
      clearTimeout(frame);
      unfollow();
    },
  };
}

function makeHappening(happening) {
  const about = el('a');
  const text = el('span');
  const at = el('time', { datetime: new Date(happening.at).toISOString() }, timeOfDay(happening.at));
  return {
    element: el('li', {}, at, ' ', el('span', { class: 'kind' }, happening.name), ' ', about, ' ', text),
    update(item) {
      setText(about, item.about);
      setAttribute(about, 'href', item.link);
      setText(text, item.text);
    },
  };
}

export function eventsView({ happenings }) {
  const list = happeningsList(happenings, { empty: 'Nothing has happened since this page was opened.' });
  return {
    title: 'Events',
    element: el('div', {}, el('p', {}, 'What happened since this page was opened, the newest first.'), list.element),
    refresh() {},
    close: list.close,
  };
}
