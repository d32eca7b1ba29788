// The node, the agent's health, its sources, and the API server.

import { ask, Refresher } from './api.js';
import { badgeCell, el, facts, setText, span, table, textCell, timeOfDay } from './dom.js';

const checkColumns = [
  { title: 'Check', class: 'wide', cell: textCell((check) => check.name) },
  { title: 'Verdict', cell: badgeCell((check) => (check.ok ? ['ok', 'good'] : ['failed', 'bad'])) },
  { title: 'Says', class: 'wide', cell: textCell((check) => check.text) },
];

const sourceColumns = [
  { title: 'Source', class: 'wide', cell: textCell((source) => source.name) },
  { title: 'State', cell: badgeCell((source) => (source.ready && !source.error ? ['listed', 'good'] : source.ready ? ['outdated', 'warn'] : ['not listed', 'bad'])) },
  { title: 'Last look', cell: textCell((source) => (source.seenSecondsAgo === null ? 'never' : `${span(source.seenSecondsAgo * 1000)} ago`)) },
  { title: 'Manifests', cell: textCell((source) => Object.entries(source.verdicts).map(([verdict, count]) => `${count.toLocaleString('en')} ${verdict}`).join(', ') || 'none') },
  { title: 'Trouble', class: 'wide', cell: textCell((source) => source.error) },
];

const byName = (each) => each.name;

function runtimeFacts({ runtime }) {
  if (!runtime) return [];
  return [['Runtime', runtime.text, !runtime.ok ? 'bad' : runtime.kind === 'hollow' ? 'warn' : null]];
}

function processFacts({ process, pods }) {
  if (!process) return [];
  return [
    ['Runs for', span(process.ageSeconds * 1000)],
    ['Memory', `${Math.round(process.residentBytes / 2 ** 20).toLocaleString('en')} MiB`],
    ['Processor time', `${process.cpuSeconds.toLocaleString('en', { maximumFractionDigits: 1 })} s (${(100 * process.cpuSeconds / Math.max(1, process.ageSeconds)).toFixed(1)} % of a core so far)`],
    ...(pods ? [['Pods', pods.total.toLocaleString('en')]] : []),
  ];
}

export function agentView() {
  const summary = facts();
  const trouble = el('p', { class: 'trouble', hidden: true });
  const sources = table({ caption: 'Sources of pods', columns: sourceColumns, keyOf: byName, empty: 'There are no sources.' });
  const cluster = table({ caption: 'The API server', columns: checkColumns, keyOf: byName, empty: 'This agent has no API server: it stands alone.' });
  const health = table({ caption: 'Checks of the agent', columns: checkColumns, keyOf: byName, empty: 'None fails.' });
  const fine = table({ caption: 'Checks that are well', columns: checkColumns, keyOf: byName, empty: 'None is well.' });
  const fineTitle = el('summary');
  let failedAt = null;
  const refresher = new Refresher(async () => {
    let document;
    try {
      document = await ask('/ui/agent');
    } catch (error) {
      failedAt ??= Date.now();
      setText(trouble, `Not current since ${timeOfDay(failedAt)}: ${error.message}.`);
      trouble.hidden = false;
      return;
    }
    failedAt = null;
    trouble.hidden = true;
    summary.show([
      ['Node', document.node],
      ...runtimeFacts(document),
      ['Healthy', document.health.ok ? 'yes' : 'no: see the checks'],
      ['Ready', document.readiness.ok ? 'yes' : 'no: see the checks'],
      ['Version', [document.version?.text, document.version?.advice].filter(Boolean).join('; ')],
      ...processFacts(document),
      ['Actors may be crashed on request', document.chaos ? 'yes (--enable-chaos)' : 'no'],
    ]);
    sources.show(document.sources);
    cluster.show(document.cluster);
    const checks = [...document.readiness.checks.filter((check) => !check.name.startsWith('source/')), ...document.health.checks];
    const well = checks.filter((check) => check.ok);
    health.show(checks.filter((check) => !check.ok));
    fine.show(well);
    setText(fineTitle, `${well.length} ${well.length === 1 ? 'check is' : 'checks are'} well`);
  }, { every: 3000 });
  const part = (id, title, ...content) => el('section', { 'aria-labelledby': id }, el('h2', { id }, title), ...content);
  return {
    title: 'Agent',
    element: el(
      'div',
      {},
      trouble,
      summary.element,
      part('sources', 'Sources', sources.element),
      part('cluster', 'API server', cluster.element),
      part('checks', 'Checks', health.element, el('details', {}, fineTitle, fine.element)),
    ),
    refresh: () => refresher.now(),
    close: () => refresher.close(),
  };
}
