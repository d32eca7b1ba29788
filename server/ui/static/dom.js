// Elements, made and changed in place. Every text that comes from elsewhere is set as text, never as markup.

/** Return an element. `attributes` may have `class`, `on` (listeners by event) and anything else by its name. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'class') element.className = value;
    else if (key === 'on') for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Show `text` in `element`. What is shown already is left alone, so nothing is selected or read anew. */
export function setText(element, text) {
  const wanted = String(text ?? '');
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** Set an attribute if it has another value; remove it for null. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

const rowsOf = new WeakMap();

/**
 * Make the children of `parent` those of `items`, in their order. `make(item)` returns `{element, update(item)}`.
 * A child whose key stays is kept and updated, with the focus that it may have.
 */
export function keep(parent, items, keyOf, make) {
  const before = rowsOf.get(parent) ?? new Map();
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const after = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (after.has(key)) continue;
    const row = before.get(key) ?? make(item);
    row.update(item);
    after.set(key, row);
  }
  for (const [key, row] of before) if (!after.has(key)) row.element.remove();
  let place = parent.firstElementChild;
  for (const row of after.values()) {
    if (row.element === place) place = place.nextElementSibling;
    else parent.insertBefore(row.element, place);
  }
  rowsOf.set(parent, after);
  if (focused && focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

/** Return a coloured word. The tone is `good`, `bad`, `warn`, `busy` or `plain`; a sign says the same. */
export function badge() {
  const word = el('span', { class: 'badge' });
  return {
    element: word,
    update(text, tone) {
      setText(word, text);
      setAttribute(word, 'data-tone', tone);
    },
  };
}

/**
 * Return a table: `{element, show(items)}`. A column has `title`, `cell()` which returns `{element, update(item)}`,
 * and may have a `class`. The first column is the header of its row.
 */
export function table({ caption, columns, keyOf, empty }) {
  const body = el('tbody', { role: 'rowgroup' });
  const nothing = el('p', { class: 'nothing', hidden: true }, empty);
  // The roles are said, since small screens show rows as blocks: browsers would forget that they are rows.
  const head = el('tr', { role: 'row' }, ...columns.map((column) => el('th', { scope: 'col', role: 'columnheader', class: column.class }, column.title)));
  const itself = el('table', { role: 'table' }, el('caption', { class: 'unseen' }, caption), el('thead', { role: 'rowgroup' }, head), body);
  const element = el('div', { class: 'table' }, itself, nothing);
  const make = () => {
    const cells = columns.map((column) => column.cell());
    const holders = cells.map((cell, index) =>
      index === 0
        ? el('th', { scope: 'row', role: 'rowheader', class: columns[index].class }, cell.element)
        : el('td', { role: 'cell', class: columns[index].class, 'data-title': columns[index].title }, cell.element));
    return { element: el('tr', { role: 'row' }, ...holders), update: (item) => cells.forEach((cell) => cell.update(item)) };
  };
  return {
    element,
    show(items) {
      keep(body, items, keyOf, make);
      nothing.hidden = items.length > 0;
      itself.hidden = items.length === 0;
    },
  };
}

/** Return a cell that shows `textOf(item)`. */
export const textCell = (textOf) => () => {
  const element = el('span');
  return { element, update: (item) => setText(element, textOf(item)) };
};

/** Return a cell with a link: `of(item)` returns its text, and where it leads, or null. */
export const linkCell = (of) => () => {
  const link = el('a');
  return {
    element: link,
    update(item) {
      const [text, target] = of(item);
      setText(link, text);
      setAttribute(link, 'href', target);
    },
  };
};

/** Return a cell with the last part of a path, and below it what is before: `of(item)` returns `[path, link]`. */
export const pathCell = (of) => () => {
  const name = el('a');
  const folder = el('span', { class: 'below' });
  return {
    element: el('span', {}, name, folder),
    update(item) {
      const [path, link] = of(item);
      const [before, last] = splitPath(path);
      setText(name, last);
      setAttribute(name, 'href', link ?? null);
      setText(folder, before);
    },
  };
};

/** Return what is before the last part of a path, and that part. Of what is no path, all is the last part. */
export function splitPath(path) {
  const place = /^\/[^:]*\/[^/]+$/.test(path) ? path.lastIndexOf('/') : -1;
  return [path.slice(0, place + 1), path.slice(place + 1)];
}

/** Return a cell with a coloured word: `of(item)` returns `[text, tone]`. */
export const badgeCell = (of) => () => {
  const word = badge();
  return { element: word.element, update: (item) => word.update(...of(item)) };
};

/** Return a cell with an age that is shown as time goes by: `of(item)` is a moment in ms, or null. */
export const ageCell = (of) => () => {
  const element = el('time', { 'data-age': '' });
  return { element, update: (item) => showAge(element, of(item)) };
};

/** Return a description list: `{element, show([[term, text]])}`. */
export function facts() {
  const element = el('dl', { class: 'facts' });
  const make = ([term]) => {
    const text = el('dd');
    return { element: el('div', {}, el('dt', {}, term), text), update: ([, value, tone = null]) => { setText(text, value); setAttribute(text, 'data-tone', tone); } };
  };
  return { element, show: (rows) => keep(element, rows, ([term]) => term, make) };
}

let ahead = 0;

/** Note the time of the agent, so that ages are right where the two clocks differ. */
export function noteTime(header) {
  const theirs = Date.parse(header ?? '');
  if (!Number.isNaN(theirs)) ahead = Math.abs(theirs - Date.now()) > 2000 ? theirs - Date.now() : 0;
}

/** Return the present moment by the agent's clock, in ms. */
const now = () => Date.now() + ahead;

/** Return a span of ms in the words of kubectl: 5s, 12m, 3h4m, 9d. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** Show how long ago `moment` was, in an element that `tick` keeps current. */
export function showAge(element, moment) {
  const known = typeof moment === 'number' && !Number.isNaN(moment);
  setAttribute(element, 'datetime', known ? new Date(moment).toISOString() : null);
  setAttribute(element, 'title', known ? new Date(moment).toISOString() : null);
  setText(element, known ? span(now() - moment) : '–');
}

/** Let all ages on the page grow. */
export function tick() {
  for (const element of document.querySelectorAll('time[data-age][datetime]')) {
    setText(element, span(now() - Date.parse(element.getAttribute('datetime'))));
  }
}

/** Return the time of day of a moment, in the zone of whoever looks. */
export const timeOfDay = (moment) => new Date(moment).toLocaleTimeString('en-GB');

/** Return a moment as people write it: with its day unless that is today. */
export function momentOf(moment) {
  const date = new Date(moment);
  return date.toDateString() === new Date(now()).toDateString() ? timeOfDay(moment) : date.toLocaleString('en-GB');
}

let saying;

/** Have a screen reader say `text`, once. For answers to what somebody did, not for all that happens. */
export function announce(text) {
  clearTimeout(saying);
  saying = setTimeout(() => setText(document.getElementById('announcer'), text), 300);
}
