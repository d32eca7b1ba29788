// The rows of the table of pods.

import { ask } from './api.js';
import { ageCell, badge, el, keep, setAttribute, setText, showAge, textCell } from './dom.js';
import { rowOf, toneOf } from './pods.js';

export const PHASES = [
  ['', 'all'],
  ['troubled', 'what needs a look'],
  ['Pending', 'Pending'],
  ['Running', 'Running'],
  ['Succeeded', 'Succeeded'],
  ['Failed', 'Failed'],
];

/** Return what the agent is asked for. */
export const podParameters = ({ choice }) => (choice === 'troubled' ? { troubled: '1' } : { phase: choice });

/** Return the rows of an answer. */
export const podRows = (document) => document.pods.map(rowOf);

/** Return pods that somebody should look at, for the list of all that needs a look. */
export async function troubledPods(most) {
  const document = await ask('/ui/pods', { troubled: '1', limit: most });
  const found = podRows(document).map((pod) => ({
    key: `pod ${pod.uid}`,
    tone: pod.tone,
    word: pod.state,
    causes: pod.why.map((each) => each.text),
    about: `${pod.namespace}/${pod.name}`,
    link: `#/pods/${encodeURIComponent(pod.uid)}`,
    text: pod.why[0]?.text ?? '',
    advice: pod.why[0]?.advice ?? '',
    more: pod.why.length - 1,
  }));
  return { found, total: document.matching };
}

function nameCell() {
  const link = el('a');
  const namespace = el('span', { class: 'below' });
  return {
    element: el('span', {}, link, namespace),
    update(pod) {
      setText(link, pod.name);
      setAttribute(link, 'href', `#/pods/${encodeURIComponent(pod.uid)}`);
      setText(namespace, pod.namespace);
    },
  };
}

function stateCell() {
  const word = badge();
  const why = el('span', { class: 'below why' });
  return {
    element: el('span', {}, word.element, why),
    update(pod) {
      word.update(pod.state, pod.tone);
      setText(why, pod.why[0]?.text ?? '');
    },
  };
}

function containersCell() {
  const items = el('ul', { class: 'plain' });
  const make = () => {
    const word = badge();
    const name = el('span');
    return {
      element: el('li', {}, name, ' ', word.element),
      update(container) {
        const shown = container.reason || container.state;
        setText(name, container.name);
        word.update(shown, containerTone(container));
      },
    };
  };
  return { element: items, update: (pod) => keep(items, pod.containers, (each) => each.name, make) };
}

function lastEventCell() {
  const text = el('span');
  const age = el('time', { 'data-age': '' });
  const when = el('span', { class: 'below' }, age, ' ago');
  return {
    element: el('span', {}, text, when),
    update({ lastEvent }) {
      setText(text, lastEvent ? `${lastEvent.reason}: ${shortened(lastEvent.message)}` : '–');
      when.hidden = !lastEvent;
      showAge(age, Date.parse(lastEvent?.at ?? ''));
    },
  };
}

const MOST_OF_A_MESSAGE = 100;
const shortened = (whole) => cutAt(whole.replace(/ in pod \S+\(\S+\)$/, ''));
const cutAt = (text) => (text.length > MOST_OF_A_MESSAGE ? `${text.slice(0, MOST_OF_A_MESSAGE)} …` : text);

/** Return the tone of a container of a row. */
export function containerTone({ state, reason, ready }) {
  if (state === 'running') return ready === false ? 'warn' : 'good';
  if (reason === 'Completed') return 'plain';
  return toneOf(reason || state);
}

export const podColumns = [
  { title: 'Pod', class: 'wide', cell: nameCell },
  { title: 'State', class: 'wide', cell: stateCell },
  { title: 'Restarts', class: 'number', cell: textCell((pod) => String(pod.restarts)) },
  { title: 'Age', class: 'number', cell: ageCell((pod) => Date.parse(pod.since)) },
  { title: 'Containers', class: 'middle', cell: containersCell },
  { title: 'Source', class: 'side', cell: textCell((pod) => pod.source) },
  { title: 'Last event', class: 'middle wide', cell: lastEventCell },
];
