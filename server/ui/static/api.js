// Asks the agent. Each answer comes, or fails with a sentence, within a time.

import { noteTime } from './dom.js';

const WITHIN = 8000;

/** An answer that is not one: `message` is a sentence for people, `status` is 0 if nobody answered. */
export class NoAnswer extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Return the JSON document of a path. Throws NoAnswer. */
export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '' && value !== null));
  const text = query.toString();
  let answer;
  let body;
  const turn = Symbol(path);
  pending.set(turn, Date.now());
  try {
    answer = await fetch(text ? `${path}?${text}` : path, {
      cache: 'no-store',
      headers: { Accept: 'application/json' },
      signal: AbortSignal.timeout(WITHIN),
    });
    noteTime(answer.headers.get('Date'));
    body = await answer.json();
  } catch (error) {
    if (answer && !answer.ok) throw new NoAnswer(`the agent answers ${answer.status}`, answer.status);
    const why = error.name === 'TimeoutError' ? `the agent did not answer within ${WITHIN / 1000} s` : 'the agent does not answer';
    throw new NoAnswer(why);
  } finally {
    pending.delete(turn);
  }
  if (!answer.ok) throw new NoAnswer(String(body?.error ?? `the agent answers ${answer.status}`), answer.status);
  return body;
}

// In ms, but for the ratio.
// Two lists and the agent are asked for side by side: together they take less than 5 % of a core of the agent.
const RATIO = 60;
const LEAST = 500;
const MOST = 30000;
const SLOW = 2500;

const pending = new Map();
let slowSince = null;
let onSlow = () => {};

/** Have `heard` told since when the agent owes an answer, in ms, once that is for long; null when it answers again. */
export function followSlowness(heard) {
  onSlow = heard;
  setInterval(noteSlowness, 500);
}

function noteSlowness() {
  const oldest = Math.min(...pending.values());
  const since = document.visibilityState === 'visible' && Date.now() - oldest > SLOW ? oldest : null;
  if ((since === null) === (slowSince === null)) return;
  slowSince = since;
  onSlow(since);
}

/**
 * Loads again and again: soon after `poke`, and every `every` ms. One load at a time, and with pauses of
 * `RATIO` times what a load takes, so that a large node pays little for a page that is open. No pause is longer
 * than `MOST`: an agent that was slow once is asked again.
 */
export class Refresher {
  constructor(load, { every = null } = {}) {
    this.load = load;
    this.every = every;
    this.isLoading = false;
    this.isWanted = false;
    this.isUrgent = false;
    this.notBefore = 0;
    this.timer = null;
    this.isClosed = false;
    this.onVisible = () => document.visibilityState === 'visible' && this.isWanted && this.schedule();
    document.addEventListener('visibilitychange', this.onVisible);
  }

  /** Load as soon as that is allowed. Further calls until then change nothing. */
  poke() {
    this.isWanted = true;
    this.schedule();
  }

  /** Load at once: somebody waits for it. */
  now() {
    this.notBefore = 0;
    this.isUrgent = this.isLoading; // what is under way may be from before
    this.poke();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.onVisible);
  }

  schedule() {
    if (this.isClosed || this.isLoading || document.visibilityState === 'hidden') return;
    this.runIn(this.notBefore - performance.now());
  }

  runIn(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), Math.max(0, pause));
  }

  async run() {
    if (document.visibilityState === 'hidden') {
      this.isWanted = true; // as soon as somebody looks
      return;
    }
    this.isWanted = false;
    this.isLoading = true;
    const began = performance.now();
    try {
      await this.load();
    } finally {
      this.isLoading = false;
    }
    const ended = performance.now();
    this.notBefore = this.isUrgent ? 0 : ended + Math.min(MOST, Math.max(LEAST, RATIO * (ended - began)));
    this.isUrgent = false;
    if (this.isClosed) return;
    if (this.isWanted) this.schedule();
    else if (this.every !== null) this.runIn(Math.max(this.every, this.notBefore - ended));
  }
}
