// The events of the agent, read for as long as the page is open. A stream that is lost is opened again, after
// pauses that grow. A stream that says nothing for too long is lost, too: the agent speaks every 15 s at least.

const PAUSES = [1000, 2000, 4000, 8000, 15000, 30000];
const SILENCE = 40000;

export class Stream {
  /** `onEvent(name, data)` is told each event, `onState(state)` each change of `{is, since, why, next}`. */
  constructor(path, { onEvent, onState }) {
    this.path = path;
    this.onEvent = onEvent;
    this.onState = onState;
    this.failures = 0;
    this.lostAt = null;
    this.timer = null;
    this.controller = null;
    this.lastId = '';
  }

  open() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.controller !== null) return;
    this.controller = new AbortController();
    this.read(this.controller);
  }

  close() {
    clearTimeout(this.timer);
    this.controller?.abort();
  }

  async read(controller) {
    let why = 'the agent does not answer';
    let watchdog;
    let isSilent = false;
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => {
        isSilent = true;
        controller.abort();
      }, SILENCE);
    };
    try {
      heard();
      const answer = await fetch(this.lastId ? `${this.path}&since=${encodeURIComponent(this.lastId)}` : this.path, { cache: 'no-store', signal: controller.signal });
      if (!answer.ok || !answer.body) {
        why = await reasonOf(answer);
        throw new Error(why);
      }
      heard();
      this.live();
      why = 'the agent ended the stream';
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        heard();
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) why = this.hear(block) ?? why;
      }
    } catch {
      if (isSilent) why = `the agent was silent for ${SILENCE / 1000} s`;
    }
    clearTimeout(watchdog);
    this.controller = null;
    this.lost(why);
  }

  /** Tell one event. Return the words of a comment that says why the stream ends. */
  hear(block) {
    let name = 'message';
    const data = [];
    for (const line of block.split('\n')) {
      if (line.startsWith(': dropped') || line.startsWith(': the agent')) return line.slice(2);
      if (line.startsWith('event: ')) name = line.slice(7);
      else if (line.startsWith('id: ')) this.lastId = line.slice(4);
      else if (line.startsWith('data: ')) data.push(line.slice(6));
    }
    if (data.length > 0) {
      let told;
      try {
        told = JSON.parse(data.join('\n'));
      } catch {
        return null; // not for us
      }
      this.onEvent(name, told);
    }
    return null;
  }

  live() {
    this.failures = 0;
    const lostAt = this.lostAt;
    this.lostAt = null;
    this.onState({ is: 'live', lostAt });
  }

  lost(why) {
    this.lostAt ??= Date.now();
    const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)] * (0.85 + 0.3 * Math.random());
    this.failures += 1;
    this.timer = setTimeout(() => this.open(), pause);
    this.onState({ is: 'lost', lostAt: this.lostAt, why, next: Date.now() + pause });
  }
}

async function reasonOf(answer) {
  try {
    return String((await answer.json()).error);
  } catch {
    return `the agent answers ${answer.status}`;
  }
}
