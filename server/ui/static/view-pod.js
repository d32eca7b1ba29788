// One pod: why it does not run, its conditions, containers, volumes, probes, and its life as a timeline.

import { ask, Refresher } from './api.js';
import { badge, badgeCell, el, facts, keep, setAttribute, setText, showAge, table, textCell, timeOfDay } from './dom.js';
import { containersOf, endOf, isTroubled, rowOf, stateOf, toneOf } from './pods.js';
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
  { title: 'State', cell: badgeCell((each) => [stateOf(each)[0], toneOf(stateOf(each)[0], { isReady: each.ready || each.kind !== '' })]) },
  { title: 'Why', class: 'wide', cell: textCell((each) => stateOf(each)[1]) },
  { title: 'Restarts', class: 'number', cell: textCell((each) => String(each.restartCount ?? 0)) },
  { title: 'Since', cell: momentCell((each) => each.state?.running?.startedAt ?? each.state?.terminated?.finishedAt) },
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
  const why = el('p', { class: 'why' });
  const verdict = el('section', { class: 'verdict', 'aria-labelledby': 'why' }, el('h2', { id: 'why' }, 'Why it does not run'), el('p', {}, word.element), why);
  const trouble = el('p', { class: 'trouble', hidden: true });
  const summary = facts();
  const conditions = table({ caption: 'Conditions', columns: conditionColumns, keyOf: (each) => each.type, empty: 'There are no conditions yet.' });
  const containers = table({ caption: 'Containers', columns: containerColumns, keyOf: (each) => each.name, empty: 'No container was made yet.' });
  const probes = table({ caption: 'Probes', columns: probeColumns, keyOf: (each) => `${each.container} ${each.probe}`, empty: 'This pod has no probes.' });
  const volumes = table({ caption: 'Volumes', columns: volumeColumns, keyOf: (each) => each.name, empty: 'This pod has no volumes.' });
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

  function show({ pod, probes: probed, volumeTroubles, events, manifest, missing }) {
    const row = rowOf(pod);
    const status = pod.status ?? {};
    setText(document.getElementById('title'), `Pod ${row.namespace}/${row.name}`);
    document.title = `${row.name} – actorlet`;
    verdict.hidden = !isTroubled(row) && row.reason === '';
    word.update(row.reason || row.phase, toneOf(row.reason || row.phase, { isReady: row.ready }));
    const notReady = (status.conditions ?? []).find((each) => each.type === 'Ready' && each.status !== 'True');
    setText(why, [row.message || notReady?.message, ...volumeTroubles.map((each) => `volume ${each.name}: ${each.trouble}`)].filter(Boolean).join('\n'));
    summary.show([
      ['Phase', row.phase],
      ['Ready', row.ready ? 'yes' : 'no'],
      ['Restarts', String(row.restarts)],
      ['Source', row.source],
      ['Addresses', (status.podIPs ?? []).map((each) => each.ip).join(', ') || 'none'],
      ['Quality of service', status.qosClass ?? ''],
      ['UID', row.uid],
      ...(manifest ? [['Manifest', [`${manifest.path}: ${manifest.verdict}`, manifest.reason].filter(Boolean).join(', ')]] : []),
      ...(missing.length ? [['Not known at present', missing.join(', ')]] : []),
    ]);
    const isOver = row.phase === 'Succeeded';
    conditions.show((status.conditions ?? []).map((each) => ({ ...each, isFine: isOver })));
    containers.show(containersOf(pod));
    probes.show(probed);
    volumes.show(volumesOf(pod, volumeTroubles));
    keep(timeline, timelineOf(pod, events), (each) => each.key, makeStep);
  }

  const part = (id, title, ...content) => el('section', { 'aria-labelledby': id }, el('h2', { id }, title), ...content);
  return {
    title: 'Pod',
    element: el(
      'div',
      {},
      trouble,
      verdict,
      summary.element,
      el(
        'div',
        { class: 'columns' },
        el('div', {}, part('containers', 'Containers', containers.element), part('conditions', 'Conditions', conditions.element), part('probes', 'Probes', probes.element), part('volumes', 'Volumes', volumes.element)),
        el('div', {}, part('timeline', 'Timeline', timeline), part('latest', 'Since this page was opened', latest.element)),
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

async function load(uid) {
  const { pod, probes = [], volumeTroubles = [], events = [], manifest = null, missing = [] } = await ask(`/ui/pods/${encodeURIComponent(uid)}`);
  return { pod, probes, volumeTroubles, events, manifest, missing };
}

/** Return the volumes of a pod: what each is made of, and what is wrong with it. */
function volumesOf(pod, troubles) {
  return (pod.spec.volumes ?? []).map((volume) => {
    const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'emptyDir';
    const made = volume[kind] ?? {};
    const of = made.secretName ?? made.name ?? made.path ?? made.claimName ?? (made.sources ?? []).map((each) => Object.keys(each).join()).join(', ');
    return { name: volume.name, kind, of, trouble: troubles.find((each) => each.name === volume.name)?.trouble ?? '' };
  });
}

function makeStep() {
  const at = el('time');
  const word = badge();
  const text = el('span');
  return {
    element: el('li', {}, at, ' ', word.element, ' ', text),
    update(step) {
      setText(at, new Date(step.at).toLocaleString('en-GB'));
      setAttribute(at, 'datetime', new Date(step.at).toISOString());
      word.update(step.word, step.tone);
      setText(text, step.text);
    },
  };
}
