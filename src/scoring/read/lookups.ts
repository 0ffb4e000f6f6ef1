import {
  type AgentKey,
  joinAgentKey,
  joinTraceKey,
  MAX_KEYS,
  type SpanSource,
  type TraceKey,
} from '../../store/contracts/stores.ts';
import type { Store } from '../../store/store.ts';
import type { AgentPastStore, ScoreStore } from '../../store/tables/scores.ts';
import { formatScoreName } from '../record/score-rows.ts';
import type { AgentPast } from '../../domain/behaviour/measures.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import type { Log } from '../../telemetry/log.ts';
import DataLoader from 'dataloader';
import type { Score } from '../../domain/score.ts';
import type { AgentRun, TraceReading } from '../../domain/trace/agent-run.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import type { TraceTask } from '../trace-task.ts';

/** Look-ups of one kind that run at the same time. Further ones gather until one of these has ended. */
const AT_ONCE = 2;

/** Most traces of a look-up that waits for others: a page of a job gains nothing. */
const MOST_SHARED = 500;

/** Reads something about traces. The result is keyed by `joinTraceKey` and lacks traces without it. */
type Lookup<Value> = (keys: readonly TraceKey[]) => Promise<Map<string, Value>>;

/**
 * Returns the stores with look-ups that several batches share: a look-up costs the store nearly the same for one trace and for 500. A
 * thousand batches of one trace each would keep all others waiting for a minute.
 */
export function shareLookups<
  Stores extends Pick<Store, 'spans' | 'decisions' | 'scores' | 'runs'> & {
    readonly failures: Pick<Store['failures'], 'ofTraces'>;
  },
>(stores: Stores): Stores {
  const { spans, decisions, scores, runs, failures } = stores;
  return {
    ...stores,
    spans: { ...spans, activity: shareLookup((keys) => spans.activity(keys)) },
    decisions: { ...decisions, ofTraces: shareLookup((keys) => decisions.ofTraces(keys)) },
    scores: { ...scores, ofTraces: shareLookup((keys) => scores.ofTraces(keys)) },
    runs: { ...runs, ofTraces: shareLookup((keys) => runs.ofTraces(keys)) },
    failures: { ...failures, ofTraces: shareLookup((keys) => failures.ofTraces(keys)) },
  };
}

function shareLookup<Value>(lookup: Lookup<Value>): Lookup<Value> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const loader = new DataLoader<TraceKey, Value | undefined>(
    async (keys) => {
      try {
        const found = await lookup(keys);
        return keys.map((key) => found.get(joinTraceKey(key)));
      } finally {
        const next = waiting.shift();
        if (next === undefined) {
          running -= 1;
        } else {
          setImmediate(next);
        }
      }
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn(send) {
        if (running < AT_ONCE) {
          running += 1;
          setImmediate(send);
        } else {
          waiting.push(send);
        }
      },
    },
  );
  return async (keys) => {
    if (keys.length > MOST_SHARED) {
      return lookup(keys);
    }
    const values = await Promise.all(keys.map((key) => loader.load(key)));
    const found = new Map<string, Value>();
    keys.forEach((key, index) => {
      const value = values[index];
      if (value !== undefined) {
        found.set(joinTraceKey(key), value);
      }
    });
    return found;
  };
}

/** Age up to which scores that were read are used, milliseconds. */
const RECENT_MS = 3_000;

/** Trace whose scores are read before a judge is asked. */
type JudgedTask = Pick<TraceTask, 'key' | 'existing' | 'existingReadMs'>;

/**
 * Creates the reads of scores before a judge is asked. They return the current scores of a trace; those that were read with it while they
 * are recent. A read takes along the traces that wait for a judge: it costs the store the same for one trace and for many. They
 * throw what the store throws.
 * @param options waitMs: time for which look-ups wait for others, milliseconds; recentMs: age up to which scores are used, 0 to read them
 * each time
 */
export function createLaterScores(
  scores: Pick<ScoreStore, 'ofTraces'>,
  {
    monotonicMs,
    waitMs,
    recentMs = RECENT_MS,
  }: { readonly monotonicMs: () => number; readonly waitMs: number; readonly recentMs?: number | undefined },
) {
  const waiting = new Set<JudgedTask>();
  const latest = new WeakMap<JudgedTask, { readonly scores: readonly Score[]; readonly readMs: number }>();
  const isRecent = (readMs: number) => monotonicMs() - readMs < recentMs;
  const loader = new DataLoader<JudgedTask, readonly Score[]>(
    async (asked) => {
      const readMs = monotonicMs();
      const tasks = [...new Set([...asked, ...(recentMs > 0 ? waiting : [])])].slice(0, MAX_KEYS);
      const found = await scores.ofTraces(tasks.map(({ key }) => key));
      tasks.forEach((task) => latest.set(task, { scores: found.get(joinTraceKey(task.key)) ?? [], readMs }));
      return asked.map((task) => latest.get(task)?.scores ?? []);
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn: (send) => void (waitMs === 0 ? setImmediate(send) : setTimeout(send, waitMs)),
    },
  );
  return {
    /** Notes that a task will soon be read. The returned function ends this. */
    expect(task: JudgedTask): () => void {
      waiting.add(task);
      return () => void waiting.delete(task);
    },
    async read(task: JudgedTask): Promise<readonly Score[]> {
      const { scores: known, readMs } = latest.get(task) ?? {
        scores: task.existing,
        readMs: task.existingReadMs,
      };
      if (!isRecent(readMs)) {
        return loader.load(task);
      }
      // Who waits gets a new look-up before the known one is too old: no slot of a judge stays idle for it.
      if (waiting.size > 0 && monotonicMs() - readMs >= recentMs / 2) {
        loader.load(task).catch(() => undefined);
      }
      return known;
    },
  };
}

/** Creates calls of which at most one per key runs at a time. Callers during that call get its result. */
export function createSingleFlight<T>() {
  const running = new Map<string, Promise<T>>();
  return {
    run(key: string, call: () => Promise<T>): Promise<T> {
      const known = running.get(key);
      if (known !== undefined) {
        return known;
      }
      const flight = call().finally(() => running.delete(key));
      running.set(key, flight);
      return flight;
    },
  };
}

/** Part of the time that reads of pasts may take. */
const READ_SHARE = 0.01;

/** Least and greatest time between two reads, milliseconds. */
const WAIT_MS = { least: 5_000, most: HOUR_MS };

interface Known {
  pasts: Promise<ReadonlyMap<string, AgentPast>>;
  nextMs: number;
}

/** Pasts of agents, read from the store and kept for a while: a store with few scores is read every 5 s, a large one at most every hour. */
export class AgentPasts {
  readonly #store: AgentPastStore;
  readonly #monotonicMs: () => number;
  readonly #log: Log;
  readonly #byScorer = new Map<string, Known>();

  constructor(store: AgentPastStore, env: { readonly monotonicMs: () => number; readonly log: Log }) {
    this.#store = store;
    this.#monotonicMs = env.monotonicMs;
    this.#log = env.log;
  }

  /** Returns the past of an agent by the rows of a scorer; undefined for a new agent. Throws what the store throws at the first read. */
  async find(scorer: string, key: AgentKey): Promise<AgentPast | undefined> {
    const known = this.#byScorer.get(scorer) ?? this.#readFirst(scorer);
    if (this.#monotonicMs() >= known.nextMs) {
      this.#refresh(scorer, known);
    }
    return (await known.pasts).get(joinAgentKey(key));
  }

  #readFirst(scorer: string): Known {
    const known: Known = { pasts: Promise.resolve(new Map()), nextMs: Infinity };
    known.pasts = this.#read(scorer, known);
    this.#byScorer.set(scorer, known);
    known.pasts.catch(() => this.#byScorer.delete(scorer));
    return known;
  }

  /** Reads again while the present pasts are still used. */
  #refresh(scorer: string, known: Known): void {
    this.#read(scorer, known).then(
      (pasts) => {
        known.pasts = Promise.resolve(pasts);
      },
      (error: unknown) =>
        this.#log.warn('the past of agents was not read; ranges and paths stay as they were', {
          scorer,
          error: readErrorMessage(error),
        }),
    );
  }

  async #read(scorer: string, known: Known): Promise<ReadonlyMap<string, AgentPast>> {
    const startedMs = this.#monotonicMs();
    known.nextMs = Infinity;
    try {
      return await this.#store.read((row) => formatScoreName(scorer, row));
    } finally {
      const waitMs = (this.#monotonicMs() - startedMs) / READ_SHARE;
      known.nextMs = this.#monotonicMs() + Math.min(WAIT_MS.most, Math.max(WAIT_MS.least, waitMs));
    }
  }
}

/** Time for which the run of an example is kept, milliseconds: a trace may be erased, or come later. */
const EXAMPLE_KEPT_MS = 60_000;

/** Question and answer of a run that a judge is shown as an example. */
export type ExampleRun = Pick<AgentRun, 'input' | 'output'>;

interface ExamplePorts {
  readonly readTrace: (data: TraceData) => TraceReading | Promise<TraceReading>;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Runs of traces that own judges have as examples, read with the tenant of the judged run. */
export class ExampleRuns {
  readonly #spans: Pick<SpanSource, 'read'>;
  readonly #ports: ExamplePorts;
  readonly #known = new Map<
    string,
    { readonly run: Promise<ExampleRun | undefined>; readonly untilMs: number }
  >();

  constructor(spans: Pick<SpanSource, 'read'>, ports: ExamplePorts) {
    this.#spans = spans;
    this.#ports = ports;
  }

  /** Returns the runs by trace id, without those that are not stored; null without examples. Throws what the store throws. */
  async find(
    scorer: string,
    tenant: string,
    traceIds: readonly string[],
  ): Promise<Readonly<Record<string, ExampleRun>> | null> {
    if (traceIds.length === 0) {
      return null;
    }
    const runs = await Promise.all(
      traceIds.map(async (traceId) => [traceId, await this.#read(scorer, { tenant, traceId })] as const),
    );
    return Object.fromEntries(runs.flatMap(([traceId, run]) => (run === undefined ? [] : [[traceId, run]])));
  }

  #read(scorer: string, key: TraceKey): Promise<ExampleRun | undefined> {
    const name = joinTraceKey(key);
    const nowMs = this.#ports.monotonicMs();
    const known = this.#known.get(name);
    if (known !== undefined && nowMs < known.untilMs) {
      return known.run;
    }
    const run = this.#readNow(scorer, key);
    this.#known.set(name, { run, untilMs: nowMs + EXAMPLE_KEPT_MS });
    run.catch(() => this.#known.delete(name));
    return run;
  }

  async #readNow(scorer: string, key: TraceKey): Promise<ExampleRun | undefined> {
    const data = (await this.#spans.read([key])).get(joinTraceKey(key));
    const run = data === undefined ? undefined : (await this.#ports.readTrace(data)).runs[0];
    if (run === undefined) {
      this.#ports.log.warn('an example of a judge is not stored for this tenant and is left out', {
        scorer,
        ...key,
      });
    }
    return run === undefined ? undefined : { input: run.input, output: run.output };
  }
}
