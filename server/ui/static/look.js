// "Needs a look": everything that somebody has to do something about, each with the reason, the worst first.

import { ask, Refresher } from './api.js';
import { badge, el, keep, setAttribute, setText, splitPath } from './dom.js';
import { troubledPods } from './pod-rows.js';

const MOST = 10;

/** Return a section: `{element, refresh(), poke(), close()}`. */
export function needsALook() {
  const items = el('ul', { class: 'look' });
  const verdict = el('p', { class: 'nothing' }, 'Looking …');
  const parts = new Map();
  const counts = new Map();
  const refresher = new Refresher(load, { every: 10000 });

  async function load() {
    await Promise.allSettled(Object.entries(PARTS).map(async ([name, part]) => {
      try {
        const { found, total } = await part();
        parts.set(name, found);
        counts.set(name, total);
      } catch (error) {
        parts.set(name, [{ key: `!${name}`, tone: 'warn', word: 'Unknown', about: name, text: `${error.message}` }]);
        counts.set(name, 1);
      }
    }));
    // What a pod lacks is told with the pod.
    const told = (parts.get('pods') ?? []).flatMap((each) => each.causes ?? []).join('\n');
    const isTold = (each) => each.object !== undefined && told.includes(`${each.object} `);
    const shown = Object.keys(PARTS).flatMap((name) => {
      const found = (parts.get(name) ?? []).filter((each) => !isTold(each));
      if (name === 'objects') counts.set(name, counts.get(name) - (parts.get(name) ?? []).length + found.length);
      const more = (counts.get(name) ?? 0) - found.length;
      const rest = more > 0 ? [{ key: `+${name}`, tone: 'plain', word: 'More', about: `${more.toLocaleString('en')} more`, link: MORE[name], text: '' }] : [];
      return [...found, ...rest];
    });
    keep(items, shown, (item) => item.key, makeItem);
    items.hidden = shown.length === 0;
    verdict.hidden = shown.length > 0;
    setText(verdict, 'All is well: every manifest is served, and every pod is as it should be.');
  }

  return {
    element: el('section', { 'aria-labelledby': 'look' }, el('h2', { id: 'look' }, 'Needs a look'), verdict, items),
    refresh: () => refresher.now(),
    poke: () => refresher.poke(),
    close: () => refresher.close(),
  };
}

const MORE = { agent: '#/agent', manifests: '#/manifests?show=troubled', pods: '#/?show=troubled', objects: '#/objects?show=troubled' };

const PARTS = {
  async agent() {
    const document = await ask('/ui/agent');
    const checks = [...document.health.checks, ...document.readiness.checks, ...document.cluster].filter((check) => !check.ok);
    const found = checks.map((check) => ({ key: `check ${check.name}`, tone: 'bad', word: 'Failed', about: check.name, link: '#/agent', text: check.text }));
    const { version } = document;
    if (version?.restartDue) found.push({ key: 'restart', tone: 'warn', word: 'Restart due', about: `actorlet ${version.text}`, link: '#/agent', text: version.advice });
    return { found: found.slice(0, MOST), total: found.length };
  },
  async manifests() {
    const document = await ask('/ui/manifests', { troubled: '1', limit: MOST });
    const found = document.manifests.map((each) => ({
      key: `manifest ${each.key}`,
      tone: each.verdict === 'accepted' ? 'warn' : 'bad',
      word: each.verdict,
      about: splitPath(each.path)[1],
      place: splitPath(each.path)[0],
      link: `#/manifests?search=${encodeURIComponent(each.path)}`,
      text: [each.reason, ...each.warnings].filter(Boolean).join('; '),
    }));
    return { found, total: document.matching };
  },
  pods: () => troubledPods(MOST),
  async objects() {
    const document = await ask('/ui/objects', { troubled: '1', limit: MOST });
    const found = document.objects.map((each) => ({
      key: `object ${each.key}`,
      tone: 'warn',
      word: each.state,
      about: `${each.kind} ${each.namespace}/${each.name}`,
      object: `${each.kind} ${each.namespace}/${each.name}`,
      link: `#/objects?search=${encodeURIComponent(`${each.namespace}/${each.name}`)}`,
      text: [each.lastError, references(each.references)].filter(Boolean).join('; '),
    }));
    return { found, total: document.matching };
  },
};

/** Return a text with a full stop at its end. */
export const asSentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Return how many references there are, in words. */
export const references = (count) => (count === 1 ? '1 reference of a pod' : `${count} references of pods`);

function makeItem() {
  const word = badge();
  const link = el('a');
  const text = el('span', { class: 'why' });
  const advice = el('span', { class: 'advice' });
  const place = el('span', { class: 'place' });
  return {
    element: el('li', {}, el('span', {}, word.element), ' ', el('span', {}, place, link, ' ', text, ' ', advice)),
    update(item) {
      word.update(item.word, item.tone);
      setText(link, item.about);
      setAttribute(link, 'href', item.link ?? null);
      setText(place, item.place ?? '');
      setText(text, item.text);
      setText(advice, [item.advice, item.more > 0 ? `There ${item.more === 1 ? 'is one cause' : `are ${item.more} causes`} more.` : ''].filter(Boolean).map(asSentence).join(' '));
    },
  };
}
