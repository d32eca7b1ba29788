// The first view: what needs a look, and the pods.

import { el } from './dom.js';
import { pagedList } from './lists.js';
import { needsALook } from './look.js';
import { podTally } from './tally.js';
import { PHASES, podColumns, podParameters, podRows } from './pod-rows.js';

export function podsView({ parameters, happenings }) {
  const look = needsALook();
  const tally = podTally(happenings);
  const pods = pagedList({
    path: '/ui/pods',
    home: '#/',
    parameters,
    caption: 'Pods of this node',
    noun: 'pods',
    empty: 'No pods are found.',
    columns: podColumns,
    keyOf: (pod) => pod.uid,
    items: podRows,
    asked: podParameters,
    choiceName: 'Show',
    choices: PHASES,
    every: 15000,
  });
  return {
    title: 'Pods',
    element: el('div', {}, tally.element, look.element, el('section', { 'aria-labelledby': 'all-pods' }, el('h2', { id: 'all-pods' }, 'All pods'), pods.element)),
    refresh() {
      look.refresh();
      pods.refresh();
    },
    hear(name) {
      if (['pod', 'status', 'event', 'probe', 'volume'].includes(name)) pods.poke();
      look.poke();
    },
    close() {
      look.close();
      tally.close();
      pods.close();
    },
  };
}
