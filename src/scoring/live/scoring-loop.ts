import { RetrySchedule, CatchUp, readDueAttempts } from './retries.ts';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import {
  runSweep,
  SWEEP_EVERY_MS,
  SWEEP_LIMIT,
  SweepRange,
  AHEAD_MS,
  OVERLAP_MS,
} from '../../readiness/readiness.ts';
import { Tail, type ReadyTrace } from '../../readiness/tail.ts';
import { createOwnership, joinPair, type Ownership, type Share } from '../../ownership/ownership.ts';
import type { Scoring } from '../scoring.ts';
import type { Rule } from '../select/rule.ts';
import { systemTimers, type Timers } from '../../domain/waits.ts';
import { createStoreClock, waitWithin, type StoreClock } from './timers.ts';
import { listPairs, LiveRevisions } from './revisions.ts';
import { SlotAdmission, WorkQueue, type WorkItem, type Urgency } from './queue.ts';
import { Workers } from './workers.ts';
import { SHARDS } from '../../store/contracts/stores.ts';
import type { DecisionStore } from '../../store/tables/decisions.ts';
import type { MemberStore } from '../../store/tables/members.ts';

/** Interval of the reads of arrivals, milliseconds. */
const TICK_MS = 1_000;

/** Interval while no trace waits. A shorter decision wait shortens it down to `TICK_MS`: a trace is found before it is ready. */
const IDLE_TICK_MS = 2_000;

/** Shortest sleep between two batches, milliseconds. */
const SHORTEST_SLEEP_MS = 20;

/**
 * Time between two batches for each trace of the last one, milliseconds. A single trace is scored at once when it is ready; many
 * are scored together, because a batch costs the store the same for one trace and for many.
 */
const GATHER_MS_PER_TRACE = 100;

/** Longest time between two batches, milliseconds. */
const MAX_GATHER_MS = 2_000;

/** Traces of a batch that is large enough: gathering ends, and the next batch comes after a tick. */
const LARGE_BATCH = 100;

/** Traces whose decisions are read at a time. */
const KEYS_PER_LOOKUP = 500;

/** Time that a stop waits for work under way before it aborts the work, milliseconds. */
const STOP_GRACE_MS = 10_000;

/** Time that a stop waits for aborted work, milliseconds. It does not wait longer for a store that does not answer. */
const ABANDON_MS = 2_000;

/** Longest time for leaving the members, milliseconds. A member without beats counts as gone soon after. */
const LEAVE_MS = 1_000;

export interface ScoringLoopOptions {
  readonly rules: readonly Rule[];
  /** Absent: this process is the only scorer of its store. */
  readonly ownership?: Ownership | undefined;
  readonly timers?: Timers | undefined;
  readonly stopGraceMs?: number | undefined;
}

export interface ScoringLoopStatus {
  /** Traces that still arrive. */
  readonly waiting: number;
  readonly queued: number;
  /** Queued traces whose slow scorers wait for slots; the other scorers have decided. */
  readonly waitingForRoom: number;
  /** Time since the oldest queued trace became ready, or one that had no room, milliseconds; null without one. */
  readonly oldestQueuedMs: number | null;
  readonly inFlight: number;
  /** Traces that will be scored again. */
  readonly retries: number;
  /** Arrivals and traces that had no room in memory. The sweep finds the traces. */
  readonly spilled: number;
  /** Age of the oldest trace that still arrives, milliseconds; null when no trace arrives. */
  readonly oldestWaitMs: number | null;
  /** Time since arrivals were last read, milliseconds; null before the first time. */
  readonly lagMs: number | null;
  /** Last error of the store; null while the store works. */
  readonly fault: string | null;
}

/** Live scoring by tail, sweep and retries. */
export class ScoringLoop {
  readonly #revisions: LiveRevisions;
  readonly #stopGraceMs: number;
  readonly #timers: Timers;
  readonly #ownership: Ownership;
  readonly #tail: Tail;
  readonly #sweepRange: SweepRange;
  readonly #queue: WorkQueue;
  readonly #admission: SlotAdmission;
  readonly #retries = new RetrySchedule();
  readonly #workers: Workers;
  readonly #pace: BatchPace;
  #catchUp: CatchUp;
  readonly #stopping = new AbortController();
  readonly #abandoning = new AbortController();
  #running: Promise<void> | null = null;
  #fault: string | null = null;
  /** Start of this process and the time from which traces are suspect, by the store's clock; null before the first tick. */
  #beginning: { startedMs: number; suspectSinceMs: number } | null = null;
  /** Times of the monotonic clock. */
  #sweepDueMs = 0;
  /** Begin of the last sweep that found all traces. */
  #sweptMs = Number.NEGATIVE_INFINITY;
  #dueReadMs = 0;
  #generation = 0;
  #tickedMs: number | null = null;
  #clock: StoreClock | null = null;
  /** True when the store has more undecided traces than the last sweep found, or than the queue had room for. */
  #hasMore = false;

  /** Throws `ConfigError` for rules that cannot be run. */
  constructor(scoring: Scoring, options: ScoringLoopOptions) {
    const { readiness, monotonicMs } = scoring;
    this.#timers = options.timers ?? systemTimers;
    this.#stopGraceMs = options.stopGraceMs ?? STOP_GRACE_MS;
    this.#ownership =
      options.ownership ?? createScorerOwnership(undefined, options.rules, { member: '', monotonicMs });
    this.#sweepRange = new SweepRange(readiness.reachMs);
    this.#tail = new Tail(
      {
        nowMs: () => this.#scoring.stores.spans.nowMs(),
        arrivals: (fromMs, untilMs) => this.#scoring.stores.spans.arrivals(fromMs, untilMs),
      },
      readiness,
    );
    const nowMs = () => this.#clock?.nowMs() ?? 0;
    this.#pace = createBatchPace(monotonicMs, (traces) => this.#tail.batchReadyInMs(nowMs(), traces));
    this.#queue = new WorkQueue(nowMs);
    this.#admission = new SlotAdmission(this.#queue, scoring.newestShare, {
      maxRuns: Math.max(1, Math.floor(scoring.maxTracesInMemory / 2)),
      hasMemory: (slots) => scoring.contentMemory.slow(slots).memory.hasRoom(),
    });
    this.#revisions = new LiveRevisions(scoring, options.rules, {
      ownership: this.#ownership,
      admission: this.#admission,
      signal: this.#abandoning.signal,
    });
    this.#catchUp = this.#createCatchUp();
    this.#workers = new Workers(scoring, {
      score: (items, onOutcome) =>
        this.#revisions.score(items, (outcome) => {
          this.#catchUp.done(outcome);
          this.#takeHeldBack();
          onOutcome(outcome);
        }),
      queue: this.#queue,
      admission: this.#admission,
      retries: this.#retries,
      timers: this.#timers,
      stopping: this.#stopping.signal,
    });
  }

  /** Stores the rules and starts. Throws `AppError` when the store cannot be used. */
  async start(): Promise<void> {
    if (this.#running !== null) {
      throw new AppError('the scoring loop runs already', {
        code: 'bug',
        stage: 'config',
        retryable: false,
      });
    }
    await this.#beat();
    await this.#revisions.record(await this.#scoring.stores.spans.nowMs());
    this.#running = this.#run();
  }

  /** Puts other rules in force, as `LiveRevisions.revise` does. */
  async revise(scoring: Scoring, rules: readonly Rule[], onRetired: () => void): Promise<number> {
    const fromMs = await this.#revisions.revise(scoring, rules, onRetired);
    this.#catchUp = this.#createCatchUp();
    this.#workers.watch(scoring);
    this.#sweepDueMs = 0;
    return fromMs;
  }

  /**
   * Waits for work under way up to the grace time, then aborts it: the next process does it again. Throws when the store does.
   * @param sessions ends when no session is under way: until then, the sessions of this process go to no other
   */
  async stop(sessions?: Promise<void>): Promise<void> {
    this.#stopping.abort();
    this.#queue.clear();
    await waitWithin(
      this.#timers,
      this.#stopGraceMs + ABANDON_MS,
      Promise.all([this.#running, this.#workers.finish(this.#stopGraceMs, this.#abandoning), sessions]),
    );
    await waitWithin(this.#timers, LEAVE_MS, this.#ownership.leave());
  }

  status(): ScoringLoopStatus {
    return {
      waiting: this.#tail.waiting(),
      queued: this.#queue.queued(),
      waitingForRoom: this.#queue.queued() - this.#queue.ready(),
      oldestQueuedMs: this.#queue.oldestWaitMs(),
      inFlight: this.#queue.inFlight(),
      retries: this.#retries.size(),
      spilled: this.#tail.spilled() + this.#queue.spilled(),
      oldestWaitMs: this.#tail.oldestWaitMs(),
      lagMs: this.#tickedMs === null ? null : Math.max(0, this.#scoring.monotonicMs() - this.#tickedMs),
      fault: this.#fault,
    };
  }

  /** Returns true when no trace arrives, waits or runs. Deferred decisions do not count. */
  isIdle(): boolean {
    const { waiting, queued, inFlight } = this.status();
    return waiting + queued + inFlight === 0;
  }

  get #scoring(): Scoring {
    return this.#revisions.current.scoring;
  }

  #createCatchUp(): CatchUp {
    const { scoring, rules } = this.#revisions.current;
    return new CatchUp(scoring, { rules, ownership: this.#ownership });
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#beat();
        if (!this.#revisions.isIdle) {
          const nowMs = await this.#readTail();
          const { rules, history } = this.#revisions.current;
          if ((history?.activeFromMs(rules) ?? 0) > nowMs + AHEAD_MS) {
            this.#scoring.log.warn("the store's clock went back: the rules are recorded again from now on");
            await this.#revisions.record(nowMs);
          }
          // Before the sweep, which may take seconds after a start.
          this.#workers.start();
          await this.#sweep();
          await this.#catchUp.tick(createStoreClock(nowMs, this.#scoring.monotonicMs));
          this.#takeHeldBack();
          this.#workers.start();
        }
        this.#retire();
        await this.#readDue();
        this.#fault = null;
      } catch (error) {
        this.#reportFault(error);
      }
      await this.#scoreUntilTick();
    }
  }

  /** Waits for the next tick. Meanwhile starts traces at the time at which they are ready. */
  async #scoreUntilTick(): Promise<void> {
    const { monotonicMs } = this.#scoring;
    const { decisionWaitMs } = this.#scoring.readiness;
    const idleMs = Math.max(TICK_MS, Math.min(IDLE_TICK_MS, decisionWaitMs));
    const tickMs = monotonicMs() + (this.isIdle() && !this.#hasMore ? idleMs : TICK_MS);
    for (;;) {
      const restMs = tickMs - monotonicMs();
      const nextMs = Math.max(this.#pace.restMs(), this.#nextReadyInMs() ?? TICK_MS, SHORTEST_SLEEP_MS);
      await this.#timers.sleep(Math.max(0, Math.min(restMs, nextMs)), this.#stopping.signal);
      if (this.#stopping.signal.aborted || monotonicMs() >= tickMs) {
        return;
      }
      if (this.#clock !== null) {
        this.#takeReady(this.#clock.nowMs());
        this.#workers.start();
      }
    }
  }

  /** Returns the time until a trace is ready or a retry is due, milliseconds; null when none is known. */
  #nextReadyInMs(): number | null {
    if (this.#clock === null || this.#beginning === null) {
      return null;
    }
    const nowMs = this.#clock.nowMs();
    const retryMs = this.#retries.nextMs();
    const times = [this.#tail.nextReadyInMs(nowMs), retryMs === null ? null : retryMs - nowMs];
    const known = times.filter((ms) => ms !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  #reportFault(error: unknown): void {
    if (this.#fault === null && !this.#stopping.signal.aborted) {
      this.#scoring.log.warn('scoring waits for the store', { error: readErrorMessage(error) });
    }
    this.#fault = readErrorMessage(error);
  }

  async #beat(): Promise<void> {
    await this.#ownership.beat();
    if (this.#ownership.generation() !== this.#generation) {
      this.#generation = this.#ownership.generation();
      this.#scoring.log.info('scorer processes changed');
      this.#sweepDueMs = 0;
      this.#sweepRange.restart();
      this.#dueReadMs = 0;
      this.#catchUp.restart();
    }
  }

  /** Returns the store's clock. */
  async #readTail(): Promise<number> {
    const { nowMs, gap } = await this.#tail.tick();
    this.#tickedMs = this.#scoring.monotonicMs();
    if (gap) {
      // After an outage of the store, the oldest undecided trace is not known.
      this.#sweepRange.restart();
      this.#sweepDueMs = 0;
    }
    this.#clock = createStoreClock(nowMs, this.#scoring.monotonicMs);
    if (this.#beginning === null) {
      const ready = this.#tail.release(nowMs);
      this.#beginning = { startedMs: nowMs, suspectSinceMs: await this.#suspectSince(ready, nowMs) };
      this.#takeTraces(ready, nowMs);
    }
    this.#takeReady(nowMs);
    return nowMs;
  }

  /** Queues ready traces and due retries, unless they gather. */
  #takeReady(nowMs: number): void {
    if (this.#pace.restMs() > 0) {
      return;
    }
    const ready = this.#takeTraces(this.#tail.release(nowMs), nowMs);
    const due = this.#retries.due(nowMs).filter((item) => this.#take(item, 'live', { nowMs, isNew: false }));
    this.#pace.begin(ready.length + due.length);
  }

  /** Queues traces. Returns those of this process. */
  #takeTraces(ready: readonly ReadyTrace[], nowMs: number): readonly ReadyTrace[] {
    return ready.filter((trace) => {
      const { tenant, traceId, firstArrivalMs: firstMs, lastArrivalMs: arrivedMs, readyAtMs } = trace;
      const reread = trace.reopened || this.#isSuspect(trace);
      const item = { tenant, traceId, firstMs, arrivedMs, readyAtMs, reread };
      return this.#take(item, 'live', { nowMs, isNew: true });
    });
  }

  /** Returns -Infinity when the store fails: then every trace of the start is read again. */
  async #suspectSince(ready: readonly ReadyTrace[], nowMs: number): Promise<number> {
    try {
      return await computeSuspectSince(this.#scoring.stores.decisions, ready, nowMs);
    } catch (error) {
      this.#reportFault(error);
      return -Infinity;
    }
  }

  /** Returns true for a trace from before the start of this process that may have got spans while no scorer ran. */
  #isSuspect(trace: ReadyTrace): boolean {
    const { startedMs, suspectSinceMs } = this.#beginning ?? { startedMs: 0, suspectSinceMs: 0 };
    return trace.firstArrivalMs <= startedMs && trace.lastArrivalMs >= suspectSinceMs;
  }

  /** Ends former rules of which no trace is left. */
  #retire(): void {
    const waitsForSweep = this.#revisions.retire({
      isQueued: (beforeMs) => this.#queue.hasBefore(beforeMs),
      isWaiting: (beforeMs) => this.#tail.hasBefore(beforeMs) || this.#retries.hasBefore(beforeMs),
      sweptMs: this.#sweptMs,
    });
    // Where more traces are left than one sweep finds, the next sweep comes by itself.
    if (waitsForSweep && !this.#hasMore) {
      this.#sweepDueMs = 0;
    }
  }

  async #sweep(): Promise<void> {
    const { stores, monotonicMs, readiness, log } = this.#scoring;
    const beganMs = monotonicMs();
    const isDue = beganMs >= this.#sweepDueMs;
    if (!isDue && !(this.#hasMore && this.#queue.queued() < SWEEP_LIMIT)) {
      return;
    }
    this.#queue.beginSweep();
    let isFull = false;
    const coverage = this.#revisions.coverage();
    for (const { pairs, shards } of this.#listShares()) {
      const { nowMs, found, full } = await runSweep(stores, {
        settings: readiness,
        range: this.#sweepRange,
        pairs: coverage.filter(({ rule, scorer }) => pairs.includes(joinPair(rule, scorer))),
        shards,
        isWaiting: (key) => this.#tail.isWaiting(key) || this.#queue.has(key),
        limit: SWEEP_LIMIT + this.#queue.queued(),
      });
      for (const { key, firstArrivalMs: firstMs, dueAtMs } of found) {
        if (dueAtMs > nowMs) {
          this.#retries.add({ ...key, firstMs }, dueAtMs);
        } else {
          this.#take({ ...key, firstMs, readyAtMs: dueAtMs }, 'sweep', { nowMs, isNew: false });
        }
      }
      isFull ||= full && found.length > 0;
      log.debug('swept', { found: found.length });
    }
    this.#sweepRange.end();
    this.#hasMore = this.#queue.endSweep() || isFull;
    this.#sweptMs = this.#hasMore ? this.#sweptMs : beganMs;
    this.#sweepDueMs = monotonicMs() + this.#untilHoldEnds(SWEEP_EVERY_MS);
  }

  /**
   * Lists the shares of this process. Former rules of this process alone keep the shards of the rules in force: the traces of the other shards
   * were decided by their owners, by their rules.
   */
  #listShares(): readonly Share[] {
    const shares = this.#ownership.shares();
    const inForce = new Set(listPairs(this.#revisions.current.rules));
    const present = shares.filter(({ pairs }) => pairs.some((pair) => inForce.has(pair)));
    if (inForce.size === 0 || present.some(({ shards }) => shards === null)) {
      return shares;
    }
    const own = new Set(present.flatMap(({ shards }) => shards ?? []));
    const all = Array.from({ length: SHARDS }, (_, shard) => shard);
    return shares.map((share) =>
      present.includes(share)
        ? share
        : { ...share, shards: (share.shards ?? all).filter((shard) => own.has(shard)) },
    );
  }

  async #readDue(): Promise<void> {
    const { stores, monotonicMs } = this.#scoring;
    if (monotonicMs() < this.#dueReadMs) {
      return;
    }
    const nowMs = await stores.spans.nowMs();
    const { attempts, nextReadMs } = await readDueAttempts(this.#scoring, this.#ownership, nowMs);
    attempts.forEach(({ key, atMs }) => this.#retries.add(key, atMs));
    this.#dueReadMs = monotonicMs() + this.#untilHoldEnds(nextReadMs);
  }

  /** Queues the next traces of the catch-up. */
  #takeHeldBack(): void {
    const nowMs = this.#clock?.nowMs() ?? 0;
    const keys = this.#stopping.signal.aborted ? [] : this.#catchUp.take(nowMs);
    keys.forEach((key) => this.#take(key, 'sweep', { nowMs, isNew: false }));
  }

  /** Shortens an interval to the end of a hold: until then, former owners write rows of traces that are now of this process. */
  #untilHoldEnds(intervalMs: number): number {
    const holdMs = this.#ownership.holdMs(false);
    return holdMs > 0 ? Math.min(intervalMs, holdMs) : intervalMs;
  }

  /** Queues a trace. Returns false for a trace of another process. */
  #take(item: WorkItem, urgency: Urgency, { nowMs, isNew }: { nowMs: number; isNew: boolean }): boolean {
    if (this.#ownership.claim(item) === null) {
      return false;
    }
    const holdMs = this.#ownership.holdMs(isNew);
    if (holdMs > 0) {
      this.#retries.add(item, nowMs + holdMs);
    } else {
      this.#hasMore = !this.#queue.push(item, urgency) || this.#hasMore;
    }
    return true;
  }
}

/**
 * Computes the time from which the traces of a starting tail are read again: the last decision less the overlap, Unix
 * milliseconds by the store's clock; -Infinity without a decision. A decision ahead of that clock counts as now.
 *
 * An insert with an earlier stamp may commit later. A running tail sees its spans. But when all scorer processes ended just
 * before such a commit, no row is newer than the decision. The insert was stamped at most one overlap before that end, and no
 * decision was made after the end. So only traces with arrivals since then can have such spans.
 */
async function computeSuspectSince(
  decisions: Pick<DecisionStore, 'ofTraces'>,
  ready: readonly ReadyTrace[],
  nowMs: number,
): Promise<number> {
  const starts = Array.from(
    { length: Math.ceil(ready.length / KEYS_PER_LOOKUP) },
    (_, n) => n * KEYS_PER_LOOKUP,
  );
  const lookups = starts.map((start) => decisions.ofTraces(ready.slice(start, start + KEYS_PER_LOOKUP)));
  const rows = (await Promise.all(lookups)).flatMap((byTrace) => [...byTrace.values()].flat());
  return (
    rows.reduce((latest, row) => Math.max(latest, Math.min(row.decidedAt, nowMs)), -Infinity) - OVERLAP_MS
  );
}

/** Times of the batches of ready traces: while traces gather, none is taken. */
interface BatchPace {
  /** Time until the next batch may begin, milliseconds; 0 or less when it may begin now. */
  restMs(): number;
  /** Begins a batch of so many traces. */
  begin(traces: number): void;
}

/** @param readyInMs time until so many traces are ready, milliseconds; null when it is not known */
function createBatchPace(monotonicMs: () => number, readyInMs: (traces: number) => number | null): BatchPace {
  let nextMs = Number.NEGATIVE_INFINITY;
  let isGathering = false;
  return {
    restMs() {
      const restMs = nextMs - monotonicMs();
      return isGathering && restMs > 0 ? Math.min(restMs, readyInMs(LARGE_BATCH) ?? Infinity) : restMs;
    },
    begin(traces) {
      isGathering = traces < LARGE_BATCH;
      nextMs =
        monotonicMs() + (isGathering ? Math.min(GATHER_MS_PER_TRACE * traces, MAX_GATHER_MS) : TICK_MS);
    },
  };
}

/**
 * Creates the ownership of a scorer process: it shares the scorers of its rules with the processes that have them too.
 * @param options member: name of this process
 */
export function createScorerOwnership(
  members: MemberStore | undefined,
  rules: readonly Rule[],
  options: {
    readonly member: string;
    readonly monotonicMs: () => number;
  },
): Ownership {
  return createOwnership(members, {
    ...options,
    pairs: listPairs(rules),
  });
}
