// One pod: why it does not run, its conditions, containers, volumes, probes, and its life as a timeline.

import { ask, Refresher } from './api.js';
import { badge, badgeCell, el, facts, keep, momentOf, setAttribute, setText, showAge, table, textCell, timeOfDay } from './dom.js';
import { containersOf, endOf, rowOf, stateOf, toneOf } from './pods.js';
import { asSentence } from './look.js';
import { timelineOf } from './timeline.js';
import { happeningsList } from './view-events.js';

const conditionColumns = [
  { title: 'Condition', class: 'wide', cell: textCell((each) => each.type) },
  { title: 'Is', cell: badgeCell((each) => [each.status, each.status === 'True' ? 'good' : each.isFine ? 'plain' : 'warn']) },
  { title: 'Since', cell: momentCell((each) => each.lastTransitionTime) },
  { title: 'Why', class: 'wide', cell: textCell((each) => [each.reason, each.message].filter(Boolean).join(': ')) },
];

const containerColumns = [
  { title: 'Container', class: 'wide', cell: textCell((each) => (each.kind ? `${each.name} (${each.kind})` : each.name)) },
  { title: 'State', cell: badgeCell((each) => [stateOf(each)[0], toneOf(stateOf(each)[0], each.ready || each.kind !== '')]) },
  { title: 'Why', class: 'wide', cell: textCell((each) => stateOf(each)[1]) },
  { title: 'Restarts', class: 'number', cell: textCell((each) => String(each.restartCount ?? 0)) },
  { title: 'Since', cell: momentCell((each) => each.state?.running?.startedAt ?? (each.state?.terminated ?? each.lastState?.terminated)?.finishedAt) },
  { title: 'Before', class: 'wide', cell: textCell(lastOf) },
  { title: 'Image', class: 'wide side', cell: textCell((each) => each.image) },
];

const probeColumns = [
  { title: 'Probe', class: 'wide', cell: textCell((each) => `${each.probe} of ${each.container}`) },
  { title: 'Result', cell: badgeCell((each) => [each.result ?? 'unknown', { success: 'good', failure: 'bad' }[each.result] ?? 'busy']) },
  { title: 'In a row', class: 'number', cell: textCell((each) => String(each.inARow ?? '–')) },
  { title: 'Last answer', class: 'wide', cell: textCell((each) => (each.lastAnswer ? [each.lastAnswer.result, each.lastAnswer.text].filter(Boolean).join(': ') : 'none yet')) },
  { title: 'At', cell: momentCell((each) => each.lastAnswer?.at) },
  { title: 'Waits for', class: 'wide', cell: textCell((each) => each.waitsFor ?? '') },
];

const volumeColumns = [
  { title: 'Volume', class: 'wide', cell: textCell((each) => each.name) },
  { title: 'Kind', cell: textCell((each) => each.kind) },
  { title: 'Of', class: 'wide', cell: textCell((each) => each.of) },
  { title: 'Trouble', class: 'wide', cell: textCell((each) => each.trouble) },
];

// Names and numbers alone: values of variables, and what commands say, may be confidential.
const askColumns = [
  { title: 'Container', class: 'wide', cell: textCell((each) => each.name) },
  { title: 'Requests', cell: textCell((each) => each.requests) },
  { title: 'Limits', cell: textCell((each) => each.limits) },
  { title: 'Ports', cell: textCell((each) => each.ports) },
  { title: 'Volumes', class: 'wide', cell: textCell((each) => each.mounts) },
  { title: 'Variables from', class: 'wide', cell: textCell((each) => each.sources) },
];

function momentCell(of) {
  return () => {
    const element = el('span');
    const age = el('time', { 'data-age': '' });
    element.append(age, ' ago');
    return {
      element,
      update(item) {
        const moment = Date.parse(of(item) ?? '');
        element.hidden = Number.isNaN(moment);
        showAge(age, moment);
      },
    };
  };
}

function lastOf(container) {
  const last = container.lastState?.terminated;
  return last ? `${last.reason ?? 'Terminated'}, ${endOf(last)}` : '';
}

export function podView({ about, happenings }) {
  const uid = about;
  const word = badge();
  const why = el('ul', { class: 'causes' });
  const heading = el('h2', { id: 'why' }, 'Why it does not run');
  const verdict = el('section', { class: 'verdict', 'aria-labelledby': 'why' }, heading, el('p', {}, word.element), why);
  const trouble = el('p', { class: 'trouble', hidden: true });
  const overview = facts();
  const conditions = table({ caption: 'Conditions', columns: conditionColumns, keyOf: (each) => each.type, empty: 'There are no conditions yet.' });
  const containers = table({ caption: 'Containers', columns: containerColumns, keyOf: (each) => each.name, empty: 'No container was made yet.' });
  const probes = table({ caption: 'Probes', columns: probeColumns, keyOf: (each) => `${each.container} ${each.probe}`, empty: 'This pod has no probes.' });
  const volumes = table({ caption: 'Volumes', columns: volumeColumns, keyOf: (each) => each.name, empty: 'This pod has no volumes.' });
  const asks = table({ caption: 'What its containers ask for', columns: askColumns, keyOf: (each) => each.name, empty: 'It has no containers.' });
  const timeline = el('ol', { class: 'happenings timeline' });
  const latest = happeningsList(happenings, { isShown: (each) => each.data.uid === uid, most: 50, empty: 'Nothing has happened to it since this page was opened.' });
  let failedAt = null;

  const refresher = new Refresher(async () => {
    let found;
    try {
      found = await load(uid);
    } catch (error) {
      failedAt ??= Date.now();
      setText(trouble, error.status === 404 ? 'This pod is not here any more, or never was.' : `Not current since ${timeOfDay(failedAt)}: ${error.message}.`);
      trouble.hidden = false;
      return;
    }
    failedAt = null;
    trouble.hidden = true;
    show(found);
  }, { every: 10000 });

  function show({ pod, summary, probes: probed, volumeTroubles, events, manifest, missing, why: reasons, oldVariables }) {
    const row = rowOf({ ...pod, summary, why: reasons });
    const status = pod.status ?? {};
    setText(document.getElementById('title'), `Pod ${row.namespace}/${row.name}`);
    document.title = `${row.name} – actorlet`;
    verdict.hidden = row.isWell && reasons.length === 0;
    word.update(row.state, row.tone);
    setText(heading, isReady(status) ? 'What to look at' : 'Why it does not run');
    keep(why, row.why, (each) => each.text, makeCause);
    overview.show([
      ['Phase', row.phase],
      ['Ready', row.ready],
      ['Restarts', String(row.restarts)],
      ['Source', row.source],
      ['Addresses', (status.podIPs ?? []).map((each) => each.ip).join(', ') || 'none'],
      ['Quality of service', status.qosClass ?? ''],
      ['Restart policy', pod.spec.restartPolicy ?? 'Always'],
      ...(manifest ? [['Manifest', [`${manifest.path}: ${manifest.verdict}`, manifest.reason].filter(Boolean).join(', ')]] : []),
      ...(oldVariables.length ? [['Old variables', oldVariables.map((each) => `container ${each.container}, of an earlier ${each.kind} ${each.name}`).join('; ')]] : []),
      ['UID', row.uid],
      ...(missing.length ? [['Not known at present', missing.join(', ')]] : []),
    ]);
    const isOver = row.phase === 'Succeeded';
    conditions.show((status.conditions ?? []).map((each) => ({ ...each, isFine: isOver })));
    containers.show(containersOf(pod));
    probes.show(probed);
    probesPart.hidden = probed.length === 0;
    volumesPart.hidden = (pod.spec.volumes ?? []).length === 0;
    asks.show(asksOf(pod));
    volumes.show(volumesOf(pod, volumeTroubles));
    keep(timeline, timelineOf(pod, events), (each) => each.key, makeStep);
  }

  const part = (id, title, ...content) => el('section', { 'aria-labelledby': id }, el('h2', { id }, title), ...content);
  const probesPart = part('probes', 'Probes', probes.element);
  const volumesPart = part('volumes', 'Volumes', volumes.element);
  return {
    title: 'Pod',
    element: el(
      'div',
      {},
      trouble,
      verdict,
      overview.element,
      el(
        'div',
        { class: 'columns' },
        el('div', {}, part('containers', 'Containers', containers.element), part('timeline', 'Timeline', timeline)),
        el('div', {}, probesPart, volumesPart, part('asks', 'What its containers ask for', asks.element), part('conditions', 'Conditions', conditions.element), part('latest', 'Since this page was opened', latest.element)),
      ),
    ),
    refresh: () => refresher.now(),
    hear: (_name, data) => (data.uid === uid || data.uid === undefined) && refresher.poke(),
    close() {
      latest.close();
      refresher.close();
    },
  };
}

/** What an agent of another version may not tell. */
const NOT_TOLD = { probes: [], volumeTroubles: [], events: [], manifest: null, missing: [], why: [], oldVariables: [] };

/** Return what the agent tells of one pod. */
const load = async (uid) => ({ ...NOT_TOLD, ...(await ask(`/ui/pods/${encodeURIComponent(uid)}`)) });

/** Return whether a pod serves. */
const isReady = (status) => (status.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');

/** Return the volumes of a pod: what each is made of, and what is wrong with it. */
function volumesOf(pod, troubles) {
  return (pod.spec.volumes ?? []).map((volume) => {
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'emptyDir';
    const made = volume[kind] ?? {};
    const of = made.secretName ?? made.name ?? made.path ?? made.claimName ?? (made.sources ?? []).map((each) => Object.keys(each).join()).join(', ');
    return { name: volume.name, kind, of, trouble: troubles.find((each) => each.name === volume.name)?.trouble ?? '' };
  });
}

/** Return what each container asks for, in words. */
function asksOf(pod) {
  const amounts = (named) => Object.entries(named ?? {}).map(([name, amount]) => `${name} ${amount}`).join(', ') || '–';
  const from = (each) => [['Secret', each.secretKeyRef ?? each.secretRef], ['ConfigMap', each.configMapKeyRef ?? each.configMapRef]]
    .filter(([, found]) => found)
    .map(([kind, found]) => `${kind} ${found.name}`);
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((each) => ({
    name: each.name,
    requests: amounts(each.resources?.requests),
    limits: amounts(each.resources?.limits),
    ports: (each.ports ?? []).map((port) => `${port.hostPort ? `${port.hostPort} → ` : ''}${port.containerPort}/${(port.protocol ?? 'TCP').toLowerCase()}`).join(', ') || '–',
    mounts: (each.volumeMounts ?? []).map((mount) => `${mount.name} at ${mount.mountPath}${mount.readOnly ? ' (read-only)' : ''}`).join(', ') || '–',
    sources: [...new Set([...(each.envFrom ?? []), ...(each.env ?? []).map((variable) => variable.valueFrom ?? {})].flatMap(from))].join(', ') || '–',
  }));
}

function makeCause() {
  const text = el('span', { class: 'why' });
  const advice = el('span', { class: 'advice' });
  return {
    element: el('li', {}, text, ' ', advice),
    update(cause) {
      setText(text, asSentence(cause.text));
      setText(advice, cause.advice ? asSentence(cause.advice) : '');
    },
  };
}

function makeStep() {
  const at = el('time');
  const word = badge();
  const text = el('span');
  return {
    element: el('li', {}, at, ' ', el('span', {}, word.element), ' ', text),
    update(step) {
      setText(at, momentOf(step.at));
      setAttribute(at, 'datetime', new Date(step.at).toISOString());
      word.update(step.word, step.tone);
      setText(text, step.text);
    },
  };
}
