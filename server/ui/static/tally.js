// How many pods there are, by phase: each number leads to those pods.

import { el, keep, setAttribute, setText } from './dom.js';

const TONES = { Running: 'good', Pending: 'busy', Failed: 'bad', Succeeded: 'plain' };

/** Return a list of numbers: `{element, close()}`. */
export function podTally(happenings) {
  const element = el('ul', { class: 'tally', 'aria-label': 'Pods by phase' });
  const show = () => {
    const pods = happenings.agent?.pods;
    if (!pods) return;
    const phases = Object.keys(TONES).filter((phase) => pods.phases[phase]);
    keep(element, [
      { key: 'all', count: pods.total, word: pods.total === 1 ? 'pod' : 'pods', link: '#/', tone: null },
      ...phases.map((phase) => ({ key: phase, count: pods.phases[phase], word: phase, link: `#/?show=${phase}`, tone: TONES[phase] })),
      { key: 'troubled', count: pods.troubled, word: pods.troubled === 1 ? 'needs a look' : 'need a look', link: '#/?show=troubled', tone: pods.troubled ? 'warn' : null },
    ], (each) => each.key, makeNumber);
  };
  show();
  return { element, close: happenings.follow(show) };
}

function makeNumber() {
  const count = el('strong');
  const word = el('span');
  const link = el('a', {}, count, ' ', word);
  return {
    element: el('li', {}, link),
    update(item) {
      setText(count, item.count.toLocaleString('en'));
      setText(word, item.word);
      setAttribute(link, 'href', item.link);
      setAttribute(link, 'data-tone', item.tone);
    },
  };
}
