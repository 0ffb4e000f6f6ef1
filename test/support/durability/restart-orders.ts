import { setTimeout as sleep } from 'node:timers/promises';
import { anAgentTrace } from '../builders/agent-trace.ts';
import { sendTraces } from '../processes/serve-process.ts';
import { until } from '../until.ts';
import { RivalServe } from './rival-serves.ts';

/** Longer than a wait of 45 s and a drain of 30 s, on a busy machine. */
const SETTLED_WITHIN_MS = 180_000;
const LONGEST_PAUSE_MS = 4_000;
/** Around the 5 s after which a process that shows no sign of life counts as hung. */
const LONGEST_HANG_MS = 8_000;
const STEPS = 6;

type Act = 'stop' | 'kill' | 'kill with engine' | 'kill engine' | 'hang';
/** Each as often as it is in here. */
const ACTS: readonly Act[] = [
  ...Array.from({ length: 5 }, () => 'stop' as const),
  'kill',
  'kill',
  'kill with engine',
  'kill engine',
  'hang',
  'hang',
];

/** Two processes that are started, stopped and killed on one folder in a random order. */
export class RestartOrders {
  /** Ids of the traces that were acknowledged. */
  readonly acknowledged: string[] = [];
  /** Ends of processes that nobody ended, and the number of orders. */
  readonly figures = { orders: 0, starts: 0, refused: 0, waited: 0, acts: 0 };
  readonly #folder: string;
  readonly #random: () => number;
  readonly #engineOf: (ownerPid: number) => number | undefined;
  readonly #all = new Map<number, RivalServe>();
  readonly #places: (RivalServe | undefined)[] = [undefined, undefined];
  #story: string[] = [];
  #sending: Promise<void>[] = [];

  /** `findEngine` is told a process and returns that of its engine, as published. */
  constructor(folder: string, random: () => number, findEngine: (ownerPid: number) => number | undefined) {
    this.#folder = folder;
    this.#random = random;
    this.#engineOf = findEngine;
  }

  /** One order, from what the last one left; afterwards exactly one of the two serves. */
  async run(): Promise<RivalServe> {
    this.#story = [];
    for (let step = 0; step < STEPS; step += 1) {
      if (this.#random() < 0.6) {
        await this.#someoneReady();
      }
      this.#step(this.#random() < 0.5 ? 0 : 1);
      // Half of the steps follow at once.
      await sleep(this.#random() < 0.5 ? 0 : this.#random() * LONGEST_PAUSE_MS);
    }
    await this.#settle();
    if (this.#running().length === 0) {
      this.#start(this.#random() < 0.5 ? 0 : 1);
      await this.#settle();
    }
    this.figures.orders += 1;
    const [serving, ...more] = this.#running();
    this.#require(more.length === 0, 'one process serves');
    if (serving?.ready === undefined) {
      throw new Error(`nobody serves: ${this.#tell()}`);
    }
    await this.#checkService(serving.ready);
    return serving;
  }

  async dispose(): Promise<void> {
    for (const serve of this.#places) {
      serve?.killGroup();
      await serve?.ended;
    }
  }

  /** Waits until the service is there, or nobody is left who could bring it. */
  async #someoneReady(): Promise<void> {
    const isReady = ({ ready, endedBy }: RivalServe) => ready !== undefined && endedBy === undefined;
    await until(
      () => this.#running().length === 0 || this.#running().some(isReady),
      SETTLED_WITHIN_MS,
      () => this.#tell(),
    );
    this.#send();
  }

  #running(): RivalServe[] {
    return this.#places.filter((serve) => serve?.isRunning === true).filter((serve) => serve !== undefined);
  }

  #step(place: 0 | 1): void {
    const serve = this.#places[place];
    if (serve?.isRunning !== true) {
      this.#start(place);
      return;
    }
    const act = ACTS[Math.floor(this.#random() * ACTS.length)] ?? 'stop';
    this.figures.acts += 1;
    this.#story.push(`${act} ${serve.pid}`);
    const acts: Record<Act, () => void> = {
      stop: () => serve.terminate(),
      kill: () => serve.killAlone(),
      'kill with engine': () => serve.killGroup(),
      'kill engine': () => this.#killEngine(serve.pid),
      hang: () => serve.hang(this.#random() * LONGEST_HANG_MS),
    };
    acts[act]();
  }

  #start(place: 0 | 1): void {
    const last = this.#places[place];
    if (last !== undefined) {
      this.#checkEnd(last);
    }
    const serve = new RivalServe(this.#folder);
    this.#places[place] = serve;
    this.#all.set(serve.pid, serve);
    this.figures.starts += 1;
    this.#story.push(`start ${serve.pid}`);
  }

  #killEngine(ownerPid: number): void {
    const pid = this.#engineOf(ownerPid);
    try {
      // Process 0 would be all of our own group.
      if (pid !== undefined && pid > 0) {
        process.kill(pid, 'SIGKILL');
      }
    } catch {
      // It has ended already.
    }
  }

  /** Sends a trace to whoever serves; its judge is at work while the next steps come. */
  #send(): void {
    for (const { ready } of this.#running()) {
      if (ready !== undefined) {
        const trace = anAgentTrace().answering('It is 18 degrees in Paris.');
        const sent = sendTraces(ready.otlpHttp, trace.request()).then((status) => {
          if (status === 200) {
            this.acknowledged.push(trace.traceId);
          }
        });
        this.#sending.push(sent);
      }
    }
  }

  async #settle(): Promise<void> {
    await until(
      () => this.#running().every((serve) => serve.ready !== undefined && serve.endedBy === undefined),
      SETTLED_WITHIN_MS,
      () => this.#tell(),
    );
    await Promise.all(this.#sending.splice(0));
    for (const serve of this.#places) {
      if (serve?.isRunning === false) {
        await serve.ended;
        this.#checkEnd(serve);
      }
    }
  }

  /** A process that was told to end does so in good order; any other says which process serves in its place. */
  #checkEnd(serve: RivalServe): void {
    const { exitCode, signalCode } = serve.child;
    if (serve.stderr.includes('waiting for process')) {
      this.figures.waited += 1;
    }
    if (serve.endedBy === 'SIGTERM') {
      // 130 after a stop that was not clean or a second signal; by the signal itself before the program listened to it.
      const ends = [0, 1, 130, 'SIGTERM'];
      this.#require(
        ends.includes(exitCode ?? signalCode ?? ''),
        `a process that is told to end does so with one of ${ends.join(', ')}`,
      );
    } else if (serve.endedBy === undefined) {
      this.figures.refused += 1;
      this.#require(exitCode === 1, 'a process that cannot serve ends with 1');
      this.#checkRefusal(serve);
    }
  }

  /** It names a process that nobody had told to end when the refused one was started. */
  #checkRefusal(refused: RivalServe): void {
    const named = this.#all.get(Number(/process (\d+) serves the data directory/.exec(refused.stderr)?.[1]));
    this.#require(named !== undefined, 'a process that is refused names the one that serves');
    if (named?.hasHung === false) {
      this.#require(named.toldAtMs > refused.startedAtMs, 'a process that stops is waited for');
    }
  }

  async #checkService({ api, otlpHttp }: { api: string; otlpHttp: string }): Promise<void> {
    // An engine that was killed is being started again.
    await until(
      async () => (await fetch(`${api}/readyz`)).status === 200,
      SETTLED_WITHIN_MS,
      () => this.#tell(),
    );
    const trace = anAgentTrace().answering('It is 19 degrees in Paris.');
    const status = await sendTraces(otlpHttp, trace.request());
    this.#require(status === 200, `the process that serves takes spans, and answered ${status}`);
    this.acknowledged.push(trace.traceId);
  }

  #require(isSo: boolean, what: string): void {
    if (!isSo) {
      throw new Error(`${what}; but: ${this.#tell()}`);
    }
  }

  #tell(): string {
    const serves = this.#places.map((serve) => serve?.describe() ?? 'none');
    return `${this.#story.join(', ')}\n${serves.join('\n')}`;
  }
}
