// The verdicts on manifests, and the Secrets and ConfigMaps that are watched.

import { badgeCell, linkCell, pathCell, span, textCell } from './dom.js';
import { pagedList } from './lists.js';
import { references } from './look.js';

const VERDICT_TONES = { accepted: 'good', ignored: 'plain', shadowed: 'warn' };
const STATE_TONES = { synced: 'good', local: 'good', immutable: 'good', cached: 'good', direct: 'good', idle: 'plain', stopped: 'plain', absent: 'bad' };

const choices = [
  ['', 'all'],
  ['troubled', 'what needs a look'],
];
const asked = ({ choice }) => ({ troubled: choice === 'troubled' ? '1' : '' });

export function manifestsView({ parameters }) {
  const list = pagedList({
    path: '/ui/manifests',
    home: '#/manifests',
    parameters,
    caption: 'Manifests, and what became of each',
    noun: 'manifests',
    empty: 'No manifests are found.',
    columns: [
      { title: 'Manifest', class: 'wide', cell: pathCell((each) => [each.path]) },
      { title: 'Verdict', cell: badgeCell((each) => [each.verdict, each.verdict === 'accepted' && each.warnings.length ? 'warn' : VERDICT_TONES[each.verdict] ?? 'bad']) },
      { title: 'Why', class: 'wide', cell: textCell((each) => [each.reason, ...each.warnings].filter(Boolean).join('; ')) },
      { title: 'Describes', cell: linkCell((each) => [each.about, each.uid && each.pod !== undefined ? `#/pods/${encodeURIComponent(each.uid)}` : null]) },
      { title: 'Source', class: 'side', cell: textCell((each) => each.source) },
    ],
    keyOf: (each) => each.key,
    items: (document) => document.manifests,
    asked,
    choiceName: 'Show',
    choices,
    every: 5000,
  });
  return viewOf('Manifests', list, ['pod', 'verdict']);
}

export function objectsView({ parameters }) {
  const list = pagedList({
    path: '/ui/objects',
    home: '#/objects',
    parameters,
    caption: 'Secrets and ConfigMaps that pods refer to',
    noun: 'objects',
    empty: 'No objects are found.',
    columns: [
      { title: 'Object', class: 'wide', cell: textCell((each) => `${each.namespace}/${each.name}`) },
      { title: 'Kind', cell: textCell((each) => each.kind) },
      { title: 'State', cell: badgeCell((each) => [each.state, each.lastError ? 'bad' : STATE_TONES[each.state] ?? 'busy']) },
      { title: 'Known to be current', cell: textCell((each) => ageOf(each.ageSeconds)) },
      { title: 'References', cell: textCell((each) => references(each.references)) },
      { title: 'Version', class: 'side', cell: textCell((each) => each.resourceVersion || '–') },
      { title: 'Origin', class: 'side', cell: textCell((each) => each.origin) },
      { title: 'Last error', class: 'wide', cell: textCell((each) => each.lastError) },
    ],
    keyOf: (each) => each.key,
    items: (document) => document.objects,
    asked,
    choiceName: 'Show',
    choices,
    every: 10000,
  });
  return viewOf('Secrets and ConfigMaps', list, ['object', 'decision', 'pod']);
}

function ageOf(seconds) {
  if (seconds === null) return 'never read';
  return seconds < 1 ? 'now' : `${span(seconds * 1000)} ago`;
}

function viewOf(title, list, events) {
  return {
    title,
    element: list.element,
    refresh: list.refresh,
    hear: (name) => events.includes(name) && list.poke(),
    close: list.close,
  };
}
