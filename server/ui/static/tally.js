// How many pods there are, by phase, and how many pods and manifests need a look: each number leads to those.

import { el, keep, setAttribute, setText } from './dom.js';

const TONES = { Running: 'good', Pending: 'busy', Failed: 'bad', Succeeded: 'plain' };

/** Return a list of numbers: `{element, close()}`. */
export function podTally(happenings) {
  const element = el('ul', { class: 'tally', 'aria-label': 'Pods by phase' });
  const show = () => {
    const pods = happenings.agent?.pods;
    if (!pods) return;
    const manifests = happenings.agent.sources.reduce((sum, source) => sum + source.troubled, 0);
    const phases = Object.keys(TONES).filter((phase) => pods.phases[phase]);
    keep(element, [
      { key: 'all', count: pods.total, word: pods.total === 1 ? 'pod' : 'pods', link: '#/', tone: null },
      ...phases.map((phase) => ({ key: phase, count: pods.phases[phase], word: phase, link: `#/?show=${phase}`, tone: TONES[phase] })),
      { key: 'troubled', count: pods.troubled, word: needsALook(pods.troubled, 'pod'), link: '#/?show=troubled', tone: pods.troubled ? 'warn' : null },
      ...(manifests ? [{ key: 'manifests', count: manifests, word: needsALook(manifests, 'manifest'), link: '#/manifests?show=troubled', tone: 'warn' }] : []),
    ], (each) => each.key, makeNumber);
  };
  show();
  return { element, close: happenings.follow(show) };
}

const needsALook = (count, noun) => (count === 1 ? `${noun} needs a look` : `${noun}s need a look`);

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
