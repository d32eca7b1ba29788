// A pod as the page shows it. How it is says the agent, in its summary; what is decided here is the colour.

import { timeOfDay } from './dom.js';

const BUSY = new Set(['ContainerCreating', 'PodInitializing', 'Pending', 'Terminating']);

/** Return the statuses of all containers of a pod: init containers first. */
export function containersOf(pod) {
  const status = pod.status ?? {};
  return [
    ...(status.initContainerStatuses ?? []).map((each) => ({ ...each, kind: 'init' })),
    ...(status.containerStatuses ?? []).map((each) => ({ ...each, kind: '' })),
    ...(status.ephemeralContainerStatuses ?? []).map((each) => ({ ...each, kind: 'ephemeral' })),
  ];
}

/** Return the state of one container: `[word, sentence]`. */
export function stateOf(container) {
  const { waiting, running, terminated } = container.state ?? {};
  if (waiting) return [waiting.reason || 'Waiting', (waiting.message ?? '').replace(/ restarting failed container=.*$/, ' before the next start')];
  if (terminated) return [terminated.reason || 'Terminated', endOf(terminated)];
  return running ? ['Running', ''] : ['Unknown', ''];
}

/** Return how a container ended. */
export function endOf(terminated) {
  const how = terminated.signal ? `signal ${terminated.signal}` : `exit code ${terminated.exitCode}`;
  return terminated.message ? `${how}: ${terminated.message.trim()}` : how;
}

/** Return the tone of the word for a pod, or a container, that is well or not. */
export function toneOf(word, isWell = true) {
  if (word === 'Running') return isWell ? 'good' : 'warn';
  if (word === 'NotReady') return 'warn';
  if (word === 'Completed' || word === 'Succeeded') return 'plain';
  if (BUSY.has(word) || /^Init:\d/.test(word)) return 'busy';
  return 'bad';
}

/** The summary of a pod of an agent that tells none: it is of another version. */
const NO_SUMMARY = { state: 'unknown', isWell: false, ready: '', restarts: 0 };

/** Return the row of a pod that the agent tells: what the table shows of it. */
export function rowOf({ summary = NO_SUMMARY, ...pod }) {
  const status = pod.status ?? {};
  const why = (pod.why ?? []).map((each) => (each.at ? { ...each, text: `${each.text} at ${timeOfDay(each.at)}` } : each));
  return {
    uid: pod.metadata.uid,
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    source: pod.source ?? pod.metadata.annotations?.['kubernetes.io/config.source'] ?? 'api',
    phase: status.phase ?? 'Pending',
    state: summary.state,
    isWell: summary.isWell,
    tone: toneOf(summary.state, summary.isWell),
    ready: summary.ready,
    restarts: summary.restarts,
    why,
    message: why.map((each) => each.text).join('\n'),
    lastEvent: pod.lastEvent ?? null,
    since: pod.metadata.creationTimestamp ?? status.startTime ?? null,
    containers: containersOf(pod)
      .filter((each) => each.kind === '' || stateOf(each)[0] !== 'Completed')
      .map((each) => ({ name: each.name, state: stateOf(each)[0].toLowerCase(), reason: each.state?.running ? '' : stateOf(each)[0], ready: each.ready || each.kind === 'init' })),
  };
}
