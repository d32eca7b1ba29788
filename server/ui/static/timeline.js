// The life of a pod in steps, the oldest first: from its document, and from what was told about it.

import { containersOf, endOf } from './pods.js';

const MEANINGS = {
  PodScheduled: 'is bound to this node',
  PodReadyToStartContainers: 'has its sandbox and its network',
  Initialized: 'all init containers have done their work',
  ContainersReady: 'all containers are ready',
  Ready: 'is ready to serve',
};

/** What comes before the containers of a pod are started; other conditions come after that. */
const BEFORE_CONTAINERS = ['PodScheduled', 'PodReadyToStartContainers', 'Initialized'];

/** Return a step for each time that is still known of an event, in their order. The last one says how often it was. */
function momentsOf(events) {
  return events
    .flatMap((each) => [...(each.before ?? []).map((at) => ({ ...each, at, text: textOnce(each) })), each])
    .sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

/** Return conditions in the order in which a pod comes to have them; those of others' making last. */
function inOrder(conditions) {
  const types = Object.keys(MEANINGS);
  const place = ({ type }) => (types.includes(type) ? types.indexOf(type) : types.length);
  return [...conditions].sort((one, other) => place(one) - place(other));
}

const textOnce = (each) => each.text.replace(/ \(\d+ times\)$/, '');

/** Return the steps: `{key, at, word, tone, text}`. */
export function timelineOf(pod, events) {
  const steps = [];
  // Times of a status are whole seconds: within one, the steps stay in the order in which they are added here.
  const add = (at, word, tone, text) => {
    const moment = typeof at === 'number' ? at : Date.parse(at ?? '');
    if (!Number.isNaN(moment)) steps.push({ at: moment, rank: steps.length, word, tone, text });
  };
  const status = pod.status ?? {};
  add(pod.metadata.creationTimestamp, 'Created', 'plain', 'at the API server');
  add(pod.metadata.annotations?.['kubernetes.io/config.seen'], 'Seen', 'plain', `by the source ${pod.metadata.annotations?.['kubernetes.io/config.source'] ?? ''}`);
  add(status.startTime, 'Taken on', 'plain', 'by this node');
  const told = momentsOf(events);
  // What the status says of a start is told already, unless the agent has been started anew since.
  const isTold = (at, name) => told.some((each) => each.word === 'Started' && each.fieldPath?.endsWith(`{${name}}`) && Math.abs(Date.parse(each.at) - Date.parse(at)) < 2000);
  const addStart = (at, name, more = '') => isTold(at, name) || add(at, 'Started', 'good', `container ${name}${more}`);
  const conditions = inOrder(status.conditions ?? []);
  const addCondition = (each) => {
    if (each.status === 'True') add(each.lastTransitionTime, each.type, 'good', MEANINGS[each.type] ?? '');
    else add(each.lastTransitionTime, `not ${each.type}`, 'warn', [each.reason, each.message].filter(Boolean).join(': '));
  };
  conditions.filter((each) => BEFORE_CONTAINERS.includes(each.type)).forEach(addCondition);
  for (const each of told) add(each.at, each.word, each.tone, each.text);
  conditions.filter((each) => !BEFORE_CONTAINERS.includes(each.type)).forEach(addCondition);
  for (const each of containersOf(pod)) {
    for (const { running, terminated } of [each.lastState ?? {}, each.state ?? {}]) {
      if (running) addStart(running.startedAt, each.name, each.restartCount ? `, restart ${each.restartCount}` : '');
      if (terminated) {
        addStart(terminated.startedAt, each.name);
        add(terminated.finishedAt, terminated.reason || 'Ended', terminated.exitCode === 0 ? 'plain' : 'bad', `container ${each.name}: ${endOf(terminated)}`);
      }
    }
  }
  add(pod.metadata.deletionTimestamp, 'Deleted', 'warn', 'its grace period ends then');
  const counts = new Map();
  return steps
    .sort((one, other) => Math.floor(one.at / 1000) - Math.floor(other.at / 1000) || one.rank - other.rank)
    .map((step) => {
      const same = `${step.at} ${step.word} ${step.text}`;
      counts.set(same, (counts.get(same) ?? 0) + 1);
      return { ...step, key: `${same} ${counts.get(same)}` };
    });
}
