// What a pod is doing, in one word and one sentence, from its document.

import { now, timeOfDay } from './dom.js';

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

/** Return whether a word is the one of a pod, or container, that is well, at work, or in trouble. */
export function toneOf(word, { isReady = true } = {}) {
  if (word === 'Running') return isReady ? 'good' : 'warn';
  if (word === 'Restarted' || word === 'NotReady') return 'warn';
  if (word === 'Completed' || word === 'Succeeded') return 'plain';
  if (BUSY.has(word) || /^Init:\d/.test(word)) return 'busy';
  return 'bad';
}

/** Return the row of a pod: what the table shows of its document. */
export function rowOf(pod) {
  const status = pod.status ?? {};
  const containers = containersOf(pod);
  const why = (pod.why ?? []).map((each) => (each.at ? { ...each, text: `${each.text} at ${timeOfDay(each.at)}` } : each));
  const ready = (status.conditions ?? []).find((each) => each.type === 'Ready');
  return {
    uid: pod.metadata.uid,
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    source: pod.source ?? pod.metadata.annotations?.['kubernetes.io/config.source'] ?? 'api',
    phase: status.phase ?? 'Pending',
    ready: ready?.status === 'True',
    reason: wordOf(pod, containers),
    why,
    message: why.map((each) => each.text).join('\n'),
    lastEvent: pod.lastEvent ?? null,
    restarts: containers.reduce((sum, each) => sum + (each.restartCount ?? 0), 0),
    since: pod.metadata.creationTimestamp ?? status.startTime ?? null,
    containers: containers
      .filter((each) => each.kind === '' || stateOf(each)[0] !== 'Completed')
      .map((each) => ({ name: each.name, state: stateOf(each)[0].toLowerCase(), reason: each.state?.running ? '' : stateOf(each)[0], ready: each.ready || each.kind === 'init' })),
  };
}

/** Return the word of a pod that is not as it should be; empty if it is. */
function wordOf(pod, containers) {
  const status = pod.status ?? {};
  if (status.reason) return status.reason;
  if (pod.metadata.deletionTimestamp) return 'Terminating';
  if (status.phase === 'Succeeded') return '';
  const inits = containers.filter((each) => each.kind === 'init');
  const place = inits.findIndex((each) => !isOver(each));
  for (const each of containers) {
    const word = stateOf(each)[0];
    if (word === 'Running' || word === 'Completed') continue;
    if (each.state?.waiting && word === 'PodInitializing') continue;
    return each.kind === 'init' ? `Init:${word}` : word;
  }
  if (place >= 0) return `Init:${place}/${inits.length}`;
  return containers.some(hasCrashedLately) ? 'Restarted' : '';
}

/** Return whether an init container holds up nobody: it has done its work, or is a sidecar that runs. */
const isOver = (each) => each.state?.terminated?.exitCode === 0 || Boolean(each.started && each.state?.running);

function hasCrashedLately(each) {
  const last = each.lastState?.terminated;
  return Boolean(each.state?.running && last && last.exitCode !== 0 && wasLately(last.finishedAt));
}

/** Return whether a container ended so lately that it may do so again: so long a crash is remembered in the back-off. */
const wasLately = (moment) => now() - Date.parse(moment ?? '') < 600000;

/** Return whether somebody should look at the pod of a row. */
export const isTroubled = (row) => (row.reason !== '' && ['bad', 'warn'].includes(toneOf(row.reason))) || (row.phase === 'Running' && !row.ready) || row.phase === 'Failed';
