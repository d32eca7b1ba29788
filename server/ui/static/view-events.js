// What happened: since the agent started, as it remembers, and since the page is open, as the stream told. The newest first.

import { badgeCell, el, keep, linkCell, momentOf, setAttribute, setText, textCell, timeOfDay } from './dom.js';
import { pastWords } from './happenings.js';
import { pagedList } from './lists.js';

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

const PAST = new Set(['event', 'object', 'decision']);

export function eventsView({ parameters, happenings }) {
  const reach = el('p');
  const past = pagedList({
    path: '/ui/events',
    home: '#/events',
    parameters,
    caption: 'What has happened, the newest first',
    noun: 'events',
    empty: 'Nothing is found.',
    columns: [
      { title: 'Last', cell: lastCell },
      { title: 'About', class: 'wide', cell: linkCell((each) => [each.about, each.link]) },
      { title: 'What', cell: badgeCell((each) => [each.what, each.type === 'Warning' ? 'warn' : 'plain']) },
      { title: 'Says', class: 'wide', cell: textCell((each) => each.said) },
      { title: 'Times', class: 'side', cell: textCell((each) => (each.count > 1 ? `${each.count.toLocaleString('en')} since ${momentOf(Date.parse(each.first))}` : '1')) },
    ],
    keyOf: (each) => each.key,
    items(document) {
      setText(reach, reachOf(document));
      return document.events.map((each) => ({ ...each, ...pastWords(each) }));
    },
    asked: ({ choice }) => ({ troubled: choice === 'troubled' ? '1' : '' }),
    choiceName: 'Show',
    choices: [
      ['', 'all'],
      ['troubled', 'warnings'],
    ],
    every: 15000,
  });
  const list = happeningsList(happenings, { empty: 'Nothing has happened since this page was opened.' });
  const part = (id, title, ...content) => el('section', { 'aria-labelledby': id }, el('h2', { id }, title), ...content);
  return {
    title: 'Events',
    element: el(
      'div',
      {},
      part('past', 'Since the agent started', reach, past.element),
      part('now', 'Since this page was opened', el('p', {}, 'All that the agent tells, the newest first: also states of pods, verdicts and actors.'), list.element),
    ),
    refresh: past.refresh,
    hear: (name) => PAST.has(name) && past.poke(),
    close() {
      past.close();
      list.close();
    },
  };
}

function lastCell() {
  const time = el('time');
  return {
    element: time,
    update({ last }) {
      setAttribute(time, 'datetime', last);
      setText(time, momentOf(Date.parse(last)));
    },
  };
}

/** Return how far back the list of what has happened reaches. */
function reachOf({ since, total, forgotten }) {
  const older = forgotten ? ` ${forgotten.toLocaleString('en')} older ${forgotten === 1 ? 'one is' : 'ones are'} forgotten.` : '';
  return `The agent started at ${momentOf(Date.parse(since))}. It remembers ${total.toLocaleString('en')} ${total === 1 ? 'event' : 'events'} since then.${older}`;
}
