import { setTimeout as sleep } from 'node:timers/promises';
import { anAgentTrace } from '../builders/agent-trace.ts';
import { sendTraces } from '../processes/serve-process.ts';
import { until } from '../until.ts';
import { RivalServe } from './rival-serves.ts';

/** More than a wait of 45 s and a drain of 30 s, on a busy machine. */
const SETTLED_WITHIN_MS = 180_000;
const LONGEST_PAUSE_MS = 4_000;
/** Both below and above the 5 s after which a process without a sign of life counts as hung. */
const LONGEST_HANG_MS = 8_000;
const STEPS = 6;

type Act = 'stop' | 'kill' | 'kill with engine' | 'kill engine' | 'hang';
/** Acts. Repetition makes an act more probable. */
const ACTS: readonly Act[] = [
  ...Array.from({ length: 5 }, () => 'stop' as const),
  'kill',
  'kill',
  'kill with engine',
  'kill engine',
  'hang',
  'hang',
];

/** Two processes on one folder that are started, stopped and killed in a random order. */
export class RestartOrders {
  /** Ids of the acknowledged traces. */
  readonly acknowledged: string[] = [];
  /** Number of random orders, starts, refused starts, waits and acts. */
  readonly figures = { orders: 0, starts: 0, refused: 0, waited: 0, acts: 0 };
  readonly #folder: string;
  readonly #random: () => number;
  readonly #findEngine: (ownerPid: number) => number | undefined;
  readonly #all = new Map<number, RivalServe>();
  readonly #places: (RivalServe | undefined)[] = [undefined, undefined];
  #log: string[] = [];
  #sending: Promise<void>[] = [];

  /** `findEngine` returns the pid of the engine of a process, from `engine.json`. */
  constructor(folder: string, random: () => number, findEngine: (ownerPid: number) => number | undefined) {
    this.#folder = folder;
    this.#random = random;
    this.#findEngine = findEngine;
  }

  /** Runs one random order, in the state that the last one left. Afterwards exactly one of the two processes serves. */
  async run(): Promise<RivalServe> {
    this.#log = [];
    for (let step = 0; step < STEPS; step += 1) {
      if (this.#random() < 0.6) {
        await this.#waitUntilReady();
      }
      this.#step(this.#random() < 0.5 ? 0 : 1);
      // Half of the steps follow without a pause.
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
      throw new Error(`no process serves: ${this.#describe()}`);
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

  /** Waits until one process is ready, or no process runs. */
  async #waitUntilReady(): Promise<void> {
    const isReady = ({ ready, endedBy }: RivalServe) => ready !== undefined && endedBy === undefined;
    await until(
      () => this.#running().length === 0 || this.#running().some(isReady),
      SETTLED_WITHIN_MS,
      () => this.#describe(),
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
    this.#log.push(`${act} ${serve.pid}`);
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
    this.#log.push(`start ${serve.pid}`);
  }

  #killEngine(ownerPid: number): void {
    const pid = this.#findEngine(ownerPid);
    try {
      // Pid 0 would signal our own process group.
      if (pid !== undefined && pid > 0) {
        process.kill(pid, 'SIGKILL');
      }
    } catch {
      // The process has ended already.
    }
  }

  /** Sends a trace to each ready process. Its judge works during the next steps. */
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
      () => this.#describe(),
    );
    await Promise.all(this.#sending.splice(0));
    for (const serve of this.#places) {
      if (serve?.isRunning === false) {
        await serve.ended;
        this.#checkEnd(serve);
      }
    }
  }

  /**
   * Checks an ended process. After a SIGTERM it must end regularly. A process that ended by itself must name the process
   * that serves.
   */
  #checkEnd(serve: RivalServe): void {
    const { exitCode, signalCode } = serve.child;
    if (serve.stderr.includes('waiting for process')) {
      this.figures.waited += 1;
    }
    if (serve.endedBy === 'SIGTERM') {
      // 130 follows an incomplete stop or a second signal. SIGTERM ends a process that has no signal handler yet.
      const ends = [0, 1, 130, 'SIGTERM'];
      this.#require(
        ends.includes(exitCode ?? signalCode ?? ''),
        `a process that got SIGTERM ends with one of ${ends.join(', ')}`,
      );
    } else if (serve.endedBy === undefined) {
      this.figures.refused += 1;
      this.#require(exitCode === 1, 'a process that cannot serve ends with 1');
      this.#checkRefusal(serve);
    }
  }

  /** Checks that a refused process names one that had no SIGTERM when the refused process was started. */
  #checkRefusal(refused: RivalServe): void {
    const named = this.#all.get(Number(/process (\d+) serves the data directory/.exec(refused.stderr)?.[1]));
    this.#require(named !== undefined, 'a process that is refused names the one that serves');
    if (named?.hasHung === false) {
      this.#require(named.terminatedAtMs > refused.startedAtMs, 'a process that stops is waited for');
    }
  }

  async #checkService({ api, otlpHttp }: { api: string; otlpHttp: string }): Promise<void> {
    // The supervisor may still be restarting a killed engine.
    await until(
      async () => (await fetch(`${api}/readyz`)).status === 200,
      SETTLED_WITHIN_MS,
      () => this.#describe(),
    );
    const trace = anAgentTrace().answering('It is 19 degrees in Paris.');
    const status = await sendTraces(otlpHttp, trace.request());
    this.#require(status === 200, `the process that serves takes spans, and answered ${status}`);
    this.acknowledged.push(trace.traceId);
  }

  #require(isSo: boolean, what: string): void {
    if (!isSo) {
      throw new Error(`${what}; but: ${this.#describe()}`);
    }
  }

  #describe(): string {
    const serves = this.#places.map((serve) => serve?.describe() ?? 'none');
    return `${this.#log.join(', ')}\n${serves.join('\n')}`;
  }
}
