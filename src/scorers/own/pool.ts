import { ConfigError, type AppError } from '../../domain/errors.ts';
import type { ScorerRunInput, ScorerRunResult, Scorer } from '../evals/scorer.ts';
import { type JudgeScope, currentJudgeScope } from '../../judge/judge-scope.ts';
import type { Log } from '../../telemetry/log.ts';
import {
  cancelledError,
  runError,
  type QueuedRun,
  limitTexts,
  type OwnScorerSpec,
  OwnWorker,
  MISUSE,
  type WorkerEnd,
} from './worker.ts';
import { UNCAUGHT, type DeclaredFacts } from './messages.ts';
import type { Reading } from '../../telemetry/metrics.ts';

/** Consecutive runs without a result in time after which a scorer pauses. */
const MAX_TIMEOUTS = 5;

/** Interval of the probe runs during a pause, milliseconds. */
export const PROBE_EVERY_MS = 60_000;

/**
 * Most processes of one scorer. A further process starts when a run has waited for longer than `GROW_AFTER_MS` and other runs
 * have ended normally meanwhile. So a scorer that hangs uses one processor at most.
 */
const MAX_PROCESSES = 4;
const GROW_AFTER_MS = 1_000;

/** Number of waiting runs from which on the caller should keep further runs, and below which it should give more. */
const WAITING_RUNS = { high: 64, low: 32 };

/** Time without work after which a process ends, unless it is the only one. */
const IDLE_MS = 60_000;

/** Pause before a process is restarted; doubled for each further process that ended without a result. */
const FIRST_RESTART_MS = 50;
const MAX_RESTART_MS = 1_000;

/** Time that running runs get at a stop, milliseconds: in their own code, and in judge calls. */
const STOP_OWN_MS = 2_000;
const STOP_JUDGES_MS = 9_000;

const STOP_LOOK_MS = 20;

/** Way in which a run ends without a result. */
type FaultKind = 'timeout' | 'out_of_memory' | 'crash';

/** A loaded own scorer; its caller uses it like any other scorer. */
interface StartedScorer {
  readonly scorer: Scorer;
  /** Returns the number of waiting runs. */
  pending(): number;
  /** Number of waiting runs below which more should be given. */
  readonly low: number;
  /** Number of waiting runs from which on no more should be given. */
  readonly high: number;
}

// No library: the threads of piscina share this process's memory and environment. The child processes of tinypool have no memory
// limit, no process group and a channel through which a scorer could end this process.

/** The processes of one own scorer, and the runs that wait for a process. */
class WorkerPool {
  readonly #spec: OwnScorerSpec;
  readonly #log: Log;
  readonly #queue: QueuedRun[] = [];
  /** Runs that each get a process alone: one of them ended its last process, and it is not known which one. */
  readonly #suspects: QueuedRun[] = [];
  readonly #workers = new Set<OwnWorker>();
  readonly #idleTimers = new Map<OwnWorker, NodeJS.Timeout>();
  readonly #gate = new PauseGate();
  /** Number of runs since the start that ended in each of these ways. */
  readonly #faults: Record<FaultKind, number> = { timeout: 0, out_of_memory: 0, crash: 0 };
  #facts: DeclaredFacts | undefined;
  #lastId = 0;
  #starting: OwnWorker | null = null;
  /** The process that runs one suspect alone. */
  #suspectWorker: OwnWorker | null = null;
  #pumping = false;
  #growTimer: NodeJS.Timeout | undefined;
  #deathsInRow = 0;
  /** True when a run has ended normally since the last process started or died. */
  #isHealthy = false;
  #restartAtMs = 0;
  #unavailable: { readonly untilMs: number; readonly why: string } | null = null;
  #isStopping = false;

  constructor(spec: OwnScorerSpec, log: Log) {
    this.#spec = spec;
    this.#log = log;
  }

  /** Loads the module in a first process. Throws `ConfigError` for a module that cannot be used. */
  async start(): Promise<StartedScorer> {
    const loading = await this.#addWorker().loaded;
    this.#starting = null;
    if ('fault' in loading) {
      const { name, path } = this.#spec;
      throw new ConfigError(`scorers.${name}.module: ${path} cannot be used: ${loading.fault}`);
    }
    this.#facts = loading.facts;
    const { moduleHash: _, ...facts } = loading.facts;
    const scorer: Scorer = {
      ...facts,
      run: (input, options) => this.#run(input, currentJudgeScope(), options?.abortSignal),
    };
    return { scorer, ...WAITING_RUNS, pending: () => this.#pending };
  }

  /** Scores one run. Rejects with an `AppError` that names the scorer and the limit. */
  #run(input: ScorerRunInput, scope: JudgeScope, signal?: AbortSignal): Promise<ScorerRunResult> {
    const refusal = this.#refusal();
    if (refusal !== null) {
      return Promise.reject(refusal);
    }
    const { promise, resolve, reject } = Promise.withResolvers<ScorerRunResult>();
    this.#lastId += 1;
    const id = this.#lastId;
    const job: QueuedRun = { id, input, scope, queuedAtMs: performance.now(), resolve, reject };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#queue.push(job);
    this.#schedulePump();
    return promise.finally(() => signal?.removeEventListener('abort', onAbort));
  }

  readings(): Reading[] {
    const labels = { scorer: this.#spec.name };
    return [
      { name: 'spanscore.guest.processes', value: this.#workers.size, labels },
      { name: 'spanscore.guest.queue', value: this.#pending, labels },
      { name: 'spanscore.guest.paused', value: this.#gate.isPaused ? 1 : 0, labels },
      ...Object.entries(this.#faults).map(
        ([fault, value]) =>
          ({ name: 'spanscore.guest.faults', value, labels: { ...labels, fault } }) as const,
      ),
    ];
  }

  get #pending(): number {
    return this.#queue.length + this.#suspects.length;
  }

  /** Gives running runs a short time to end, then ends the processes. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#growTimer);
    this.#rejectQueue(cancelledError(this.#spec.name));
    this.#workers.forEach((worker) => worker.shorten(STOP_OWN_MS));
    const untilMs = performance.now() + STOP_JUDGES_MS;
    while ([...this.#workers].some((worker) => worker.isBusy) && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, STOP_LOOK_MS));
    }
    const workers = [...this.#workers];
    workers.forEach((worker) => worker.kill());
    await Promise.all(workers.map((worker) => worker.exited));
  }

  #refusal(): AppError | null {
    const { name } = this.#spec;
    const nowMs = performance.now();
    if (this.#isStopping) {
      return cancelledError(name);
    }
    if (this.#unavailable !== null && nowMs < this.#unavailable.untilMs) {
      return this.#unavailableError(this.#unavailable.why);
    }
    return this.#gate.admits(nowMs) ? null : this.#pausedError();
  }

  #pausedError(): AppError {
    const { name } = this.#spec;
    const text = `scorer ${name} pauses: its last runs gave no result within ${limitTexts(this.#spec).timeout} (scorers.${name}.limits.timeout); one run a minute is tried`;
    return runError('scorer_paused', text, PROBE_EVERY_MS);
  }

  #unavailableError(why: string): AppError {
    const text = `scorer ${this.#spec.name} cannot be run: ${why}`;
    return runError('scorer_unavailable', text, PROBE_EVERY_MS);
  }

  #cancel(job: QueuedRun): void {
    for (const queue of [this.#queue, this.#suspects]) {
      const index = queue.indexOf(job);
      if (index >= 0) {
        queue.splice(index, 1);
      }
    }
    this.#workers.forEach((worker) => worker.cancel(job.id));
    job.reject(cancelledError(this.#spec.name));
  }

  #rejectQueue(error: AppError): void {
    [...this.#queue.splice(0), ...this.#suspects.splice(0)].forEach((job) => job.reject(error));
  }

  /** Plans one pass: runs that arrive in the same turn of the event loop are sent in one message. */
  #schedulePump(): void {
    if (!this.#pumping) {
      this.#pumping = true;
      setImmediate(() => {
        this.#pumping = false;
        this.#pump();
      });
    }
  }

  #pump(): void {
    const byRoom = [...this.#workers].filter((worker) => worker !== this.#suspectWorker);
    for (const worker of byRoom.toSorted((a, b) => b.room - a.room)) {
      if (worker.room > 0 && this.#queue.length > 0) {
        clearTimeout(this.#idleTimers.get(worker));
        worker.take(this.#queue);
      }
    }
    clearTimeout(this.#growTimer);
    const startMs = this.#nextStartMs();
    const waitMs = startMs - performance.now();
    if (waitMs <= 0) {
      void this.#grow();
    } else if (Number.isFinite(waitMs)) {
      this.#growTimer = setTimeout(() => this.#pump(), waitMs);
    }
  }

  /** Returns the time of the next start of a process; infinite when none is planned. */
  #nextStartMs(): number {
    const [oldest] = this.#queue;
    if (this.#starting !== null || this.#isStopping) {
      return Infinity;
    }
    if (this.#suspects.length > 0 && this.#suspectWorker === null) {
      return this.#restartAtMs;
    }
    const isFirst = this.#workers.size === (this.#suspectWorker === null ? 0 : 1);
    const canGrow = isFirst || (this.#isHealthy && this.#workers.size < MAX_PROCESSES);
    if (oldest === undefined || !canGrow) {
      return Infinity;
    }
    return Math.max(isFirst ? 0 : oldest.queuedAtMs + GROW_AFTER_MS, this.#restartAtMs);
  }

  async #grow(): Promise<void> {
    const isAlone = this.#suspects.length > 0 && this.#suspectWorker === null;
    const worker = this.#addWorker();
    this.#suspectWorker = isAlone ? worker : this.#suspectWorker;
    const loading = await worker.loaded;
    this.#starting = null;
    const fault =
      'fault' in loading
        ? loading.fault
        : JSON.stringify(loading.facts) === JSON.stringify(this.#facts)
          ? null
          : `${this.#spec.path} has changed since the start: restart to use it`;
    if (fault !== null && !this.#isStopping) {
      this.#declareUnavailable(worker, fault);
    } else if (isAlone) {
      worker.take(this.#suspects.splice(0, 1));
    }
    this.#pump();
  }

  #declareUnavailable(worker: OwnWorker, why: string): void {
    worker.kill();
    this.#unavailable = { untilMs: performance.now() + PROBE_EVERY_MS, why };
    this.#log.warn('the process of a scorer could not be started; its runs are tried again in a minute', {
      scorer: this.#spec.name,
      reason: why,
    });
    this.#rejectQueue(this.#unavailableError(why));
  }

  #addWorker(): OwnWorker {
    const worker = new OwnWorker(
      this.#spec,
      this.#log,
      {
        onRoom: () => this.#onRoom(worker),
        onEnded: () => this.#onEnded(),
        onEnd: (ended, end) => this.#onWorkerEnd(ended, end),
      },
      this.#facts === undefined,
    );
    this.#starting = worker;
    this.#isHealthy = false;
    this.#workers.add(worker);
    return worker;
  }

  #onRoom(worker: OwnWorker): void {
    if (worker === this.#suspectWorker && !worker.isBusy && this.#starting !== worker) {
      // The process ends too, with everything that the suspect left in its memory.
      worker.kill();
    } else if (this.#queue.length > 0) {
      this.#schedulePump();
    } else if (!worker.isBusy && this.#workers.size > 1) {
      clearTimeout(this.#idleTimers.get(worker));
      const timer = setTimeout(() => this.#endIdle(worker), IDLE_MS).unref();
      this.#idleTimers.set(worker, timer);
    }
  }

  #endIdle(worker: OwnWorker): void {
    if (!worker.isBusy && this.#workers.size > 1) {
      worker.kill();
    }
  }

  #onEnded(): void {
    this.#deathsInRow = 0;
    this.#isHealthy = true;
    if (this.#gate.countEnd()) {
      this.#log.info('a paused scorer works again', { scorer: this.#spec.name });
    }
  }

  #onWorkerEnd(worker: OwnWorker, end: WorkerEnd): void {
    this.#workers.delete(worker);
    this.#suspectWorker = this.#suspectWorker === worker ? null : this.#suspectWorker;
    clearTimeout(this.#idleTimers.get(worker));
    this.#idleTimers.delete(worker);
    if (this.#isStopping) {
      [end.holder, ...end.others].forEach((job) => job?.reject(cancelledError(this.#spec.name)));
      return;
    }
    if (end.holder !== null || end.others.length > 0) {
      this.#deathsInRow += 1;
      this.#isHealthy = false;
      const waitMs = Math.min(MAX_RESTART_MS, FIRST_RESTART_MS * 2 ** (this.#deathsInRow - 1));
      this.#restartAtMs = performance.now() + waitMs;
    }
    this.#blame(end);
    if (this.#gate.isPaused) {
      this.#rejectQueue(this.#pausedError());
    }
    this.#pump();
  }

  /** Rejects the run that ended a process, where it is known for certain; the other runs go to another process. */
  #blame(end: WorkerEnd): void {
    const { holder, others, taken, isShared } = end;
    if (holder !== null && (taken === 1 || (end.reason === 'timeout' && !isShared))) {
      this.#fail(holder, end);
      this.#queue.unshift(...others);
    } else if (holder !== null) {
      // An earlier run may be the cause: with memory that it filled, or with an error or a loop that came later.
      this.#suspects.push(holder);
      this.#queue.unshift(...others);
    } else if (taken === 1) {
      others.forEach((job) => this.#fail(job, end));
    } else {
      this.#suspects.push(...others);
    }
  }

  #fail(job: QueuedRun, end: WorkerEnd): void {
    const { kind, error } = this.#verdictOn(end);
    this.#faults[kind] += 1;
    job.reject(error);
    if (kind !== 'timeout') {
      this.#gate.countEnd();
    } else if (this.#gate.countTimeout(performance.now())) {
      this.#log.warn('a scorer pauses: its runs give no result in time; one run a minute is tried', {
        scorer: this.#spec.name,
        limit: limitTexts(this.#spec).timeout,
      });
    }
  }

  #verdictOn({ reason, exit }: WorkerEnd): { kind: FaultKind; error: AppError } {
    const { name } = this.#spec;
    const { timeout, memory } = limitTexts(this.#spec);
    if (reason === 'timeout') {
      const text = `scorer ${name} gave no result within ${timeout} (scorers.${name}.limits.timeout)`;
      return { kind: 'timeout', error: runError('timeout', text) };
    }
    if (reason === 'misuse') {
      return { kind: 'crash', error: runError('scorer_failed', `scorer ${name} ${MISUSE}`) };
    }
    if (exit.isOutOfMemory) {
      const text = `scorer ${name} took more than ${memory} of memory (scorers.${name}.limits.memory)`;
      return { kind: 'out_of_memory', error: runError('out_of_memory', text) };
    }
    const how = exit.signal === null ? `ended its process with code ${exit.code}` : `died of ${exit.signal}`;
    const text = `scorer ${name} ${how}${exit.lastWords === '' ? '' : `: ${crashText(exit.lastWords)}`}`;
    return { kind: 'crash', error: runError('scorer_failed', text) };
  }
}

/** Describes a crash: by the exception outside of any handler, else by the last line. */
function crashText(lastWords: string): string {
  const lines = lastWords.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => line.startsWith(UNCAUGHT)) ?? lines.at(-1) ?? '').trim();
}

/** Pauses a scorer whose consecutive runs all time out. */
export class PauseGate {
  #timeouts = 0;
  #nextProbeMs = 0;

  get isPaused(): boolean {
    return this.#timeouts >= MAX_TIMEOUTS;
  }

  /** Returns true when a run may begin; during a pause, one run a minute may. */
  admits(nowMs: number): boolean {
    if (!this.isPaused) {
      return true;
    }
    if (nowMs < this.#nextProbeMs) {
      return false;
    }
    this.#nextProbeMs = nowMs + PROBE_EVERY_MS;
    return true;
  }

  /** Counts a run that timed out. Returns true when the scorer pauses from now on. */
  countTimeout(nowMs: number): boolean {
    this.#timeouts += 1;
    this.#nextProbeMs = Math.max(this.#nextProbeMs, nowMs + PROBE_EVERY_MS);
    return this.#timeouts === MAX_TIMEOUTS;
  }

  /** Counts a run that ended in time, with or without a result. Returns true when this ends a pause. */
  countEnd(): boolean {
    const wasPaused = this.isPaused;
    this.#timeouts = 0;
    return wasPaused;
  }
}

/** All own scorers of one process. */
export class OwnScorers {
  readonly #log: Log;
  readonly #pools: WorkerPool[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Loads a module in a process of its own. Throws `ConfigError` for a module that cannot be used. */
  start(spec: OwnScorerSpec): Promise<StartedScorer> {
    const pool = new WorkerPool(spec, this.#log);
    this.#pools.push(pool);
    return pool.start();
  }

  readings(): Reading[] {
    return this.#pools.flatMap((pool) => pool.readings());
  }

  /** Gives running runs a short time to end, then ends the processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.stop()));
  }
}
