import type { Scoring } from '../scoring.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { mergeItems, type WorkItem } from './queue.ts';
import type { Decision } from '../../domain/decision.ts';
import { RETURN_MS, type Ownership } from '../../ownership/ownership.ts';
import { buildRemovedRow, buildHeldRow, buildLapsedRow } from '../record/decision-rows.ts';
import { MINUTE_MS } from '../../domain/durations.ts';
import type { SpentCap } from '../budget/budget-request.ts';
import type { PreparedRule } from '../select/rule.ts';
import type { StoreClock } from './timers.ts';
import type { TraceOutcome } from '../trace-task.ts';

/** Most retries in memory. The sweep finds the others when they are due. */
const MAX_SCHEDULED = 50_000;

/** Traces to score again at times of the store's clock. It only makes retries fast: the process finds them in the store too. */
export class RetrySchedule {
  readonly #maxScheduled: number;
  readonly #entries = new Map<string, { readonly item: WorkItem; readonly times: ReadonlySet<number> }>();
  #earliestMs = Infinity;

  constructor(maxScheduled = MAX_SCHEDULED) {
    this.#maxScheduled = maxScheduled;
  }

  /** Adds a retry. A trace may have several: its scorers are deferred to times of their own. */
  add(item: WorkItem, atMs: number): void {
    const key = joinTraceKey(item);
    const known = this.#entries.get(key);
    if (known === undefined && this.#entries.size >= this.#maxScheduled) {
      return;
    }
    this.#entries.set(key, { item: mergeItems(known?.item, item), times: new Set(known?.times).add(atMs) });
    this.#earliestMs = Math.min(this.#earliestMs, atMs);
  }

  /** Takes out the retries that are due and returns their traces, each once. */
  due(nowMs: number): WorkItem[] {
    if (nowMs < this.#earliestMs) {
      return [];
    }
    const due: WorkItem[] = [];
    this.#earliestMs = Infinity;
    for (const [key, { item, times }] of this.#entries) {
      const later = [...times].filter((atMs) => atMs > nowMs);
      this.#earliestMs = Math.min(this.#earliestMs, ...later);
      if (later.length === times.size) {
        continue;
      }
      due.push({ ...item, readyAtMs: Math.min(item.readyAtMs ?? Infinity, ...times) });
      if (later.length === 0) {
        this.#entries.delete(key);
      } else {
        const rest = { ...item, reread: false, readyAtMs: undefined };
        this.#entries.set(key, { item: rest, times: new Set(later) });
      }
    }
    return due;
  }

  size(): number {
    return this.#entries.size;
  }

  /** Returns true when a trace of which it is known that it arrived before a time is scheduled, Unix milliseconds. */
  hasBefore(atMs: number): boolean {
    return [...this.#entries.values()].some(({ item }) => (item.firstMs ?? Infinity) < atMs);
  }

  /** Returns the earliest time; null when nothing is scheduled. */
  nextMs(): number | null {
    return Number.isFinite(this.#earliestMs) ? this.#earliestMs : null;
  }
}

/** Interval of the reads of due attempts, milliseconds. */
export const DUE_EVERY_MS = 5 * 60_000;

/** Time of attempts that one read looks ahead, milliseconds: longer than the interval of the reads. */
const LOOK_AHEAD_MS = DUE_EVERY_MS + 60_000;

/** Most decisions of one read. */
const DUE_LIMIT = 10_000;

/**
 * Ends the deferred decisions whose rule or scorer no process has any more. Two processes that read the same row write the same row. Returns the decisions of this process, and whether some are left to others. Throws when the store does.
 */
export async function takeOwn(
  { decisionWriter }: Scoring,
  ownership: Ownership,
  rows: readonly Decision[],
  nowMs: number,
): Promise<{ readonly own: readonly Decision[]; readonly isLeft: boolean }> {
  const isKnown = ({ rule, scorer }: Decision) => ownership.isKnown(rule, scorer);
  const removed = rows.filter((row) => !isKnown(row) && (row.nextAttemptAt ?? 0) <= nowMs);
  await decisionWriter.write(removed.map((row) => buildRemovedRow(row, nowMs)));
  const own = rows.filter(
    (row) => isKnown(row) && ownership.claim(keyOf(row))?.owns(row.rule, row.scorer) === true,
  );
  return { own, isLeft: rows.length > own.length + removed.length };
}

/**
 * Reads the deferred decisions by the time of their next attempt alone, whatever the age of their traces, ahead of that time. Returns the
 * attempts of this process, by the store's clock, and the time until the next read. Throws when the store does.
 */
export async function readDueAttempts(
  scoring: Scoring,
  ownership: Ownership,
  nowMs: number,
): Promise<{
  readonly attempts: readonly { readonly key: TraceKey; readonly atMs: number }[];
  readonly nextReadMs: number;
}> {
  const untilMs = nowMs + LOOK_AHEAD_MS;
  const query = { untilMs, shards: ownership.shards(), limit: DUE_LIMIT };
  const rows = await scoring.stores.decisions.due(query);
  const { own, isLeft } = await takeOwn(scoring, ownership, rows, nowMs);
  const attempts = own.map((row) => ({ key: keyOf(row), atMs: row.nextAttemptAt ?? 0 }));
  // The process that has the scorer may have ended: then the row is unknown soon.
  const isMore = isLeft || rows.length >= DUE_LIMIT;
  return { attempts, nextReadMs: isMore ? RETURN_MS : DUE_EVERY_MS };
}

/** Most traces of the catch-up under way. */
const BATCH = 50;

/** Weight of a new cost in the average. */
const WEIGHT = 0.2;

/** Most decisions of one read of a process that has all traces. */
const PAGE = 2_000;

/** Time without an own decision among the first ones after which a process reads further, milliseconds: another one may be stuck. */
const WIDEN_MS = 30_000;

/** Interval of reads that find nothing, milliseconds: half of it to one and a half, so that processes do not begin together. */
const POLL_MS = MINUTE_MS;

/** Interval of the search for decisions that are too old, milliseconds. */
const LAPSE_MS = 5 * MINUTE_MS;

/** Most decisions of one write. */
const WRITE_LIMIT = 10_000;

/** Longest time of a trace under way, milliseconds; then its place is free again. */
const UNDER_WAY_MS = 15 * MINUTE_MS;

/** Time for which a trace is left alone whose decision an attempt did not change, milliseconds. */
const LEAVE_MS = MINUTE_MS;

/** Returns the key of the trace or session of a decision. */
function keyOf({ tenant, traceId, targetId }: Decision): TraceKey {
  return { tenant, traceId: traceId === '' ? targetId : traceId };
}

/** A trace under way, or one that is left alone. */
interface Taken {
  readonly atMs: number;
  /** Time of the decision that the trace had. */
  readonly decidedAtMs: number;
  isDone: boolean;
}

/**
 * Scores the traces, or the sessions, that budgets held back, in the configured order, as soon as they have money again. The store has
 * the order, so it holds over restarts. Of several processes, each takes its own among the first of all processes, so none is far ahead
 * of the others. Nothing is read while its budget has no money: it stays a decision. What is too old becomes `failed`.
 */
export class CatchUp {
  readonly #scoring: Scoring;
  readonly #ownership: Ownership;
  readonly #ofSessions: boolean;
  readonly #rules: ReadonlyMap<string, PreparedRule>;
  readonly #taken = new Map<string, Taken>();
  #page: Decision[] = [];
  /** Decisions whose budget is spent, with the time at which it renews. They are written at the next tick. */
  #postponed: { readonly row: Decision; readonly spent: SpentCap }[] = [];
  /** Times of the monotonic clock. */
  #readDueMs = 0;
  #lapseDueMs = 0;
  #foundOwnMs = 0;
  /** Moving average of the cost of a trace; null before the first one. */
  #meanUsd: number | null = null;
  /** Most decisions of one read while there are other processes. */
  #window = BATCH;

  /** @param ofSessions true: sessions; the id of the target stands in the place of the trace id */
  constructor(
    scoring: Scoring,
    {
      rules,
      ownership,
      ofSessions = false,
    }: {
      readonly rules: readonly PreparedRule[];
      readonly ownership: Ownership;
      readonly ofSessions?: boolean;
    },
  ) {
    this.#scoring = scoring;
    this.#ownership = ownership;
    this.#ofSessions = ofSessions;
    this.#rules = new Map(rules.map((rule) => [rule.name, rule]));
  }

  /** Reads further decisions when none is left, and ends those that are too old. Throws when the store does. */
  async tick(clock: StoreClock): Promise<void> {
    const { decisionWriter, monotonicMs, random } = this.#scoring;
    const nowMs = clock.nowMs();
    const postponed = this.#postponed.splice(0);
    await decisionWriter.write(postponed.map(({ row, spent }) => buildHeldRow(row, spent, nowMs)));
    if (this.#page.length > 0 || monotonicMs() < this.#readDueMs) {
      return;
    }
    if (monotonicMs() >= this.#lapseDueMs) {
      const isFull = await this.#endOld(nowMs);
      this.#lapseDueMs = monotonicMs() + (isFull ? 0 : LAPSE_MS);
    }
    const isLast = await this.#readPage(clock);
    this.#readDueMs = monotonicMs() + (isLast ? POLL_MS * (0.5 + random()) : 0);
  }

  /** Takes the next traces: as many as the money is expected to pay for, so that it goes to the first ones. */
  take(nowMs: number): TraceKey[] {
    const keys: TraceKey[] = [];
    let open = this.#countOpen();
    for (let row = this.#page[0]; row !== undefined && open < BATCH; row = this.#page[0]) {
      const name = joinTraceKey(keyOf(row));
      const { spent, restUsd } = this.#scoring.budget.findRest(this.#callOf(row), nowMs);
      if (spent === undefined && !this.#taken.has(name) && open > 0 && !this.#mayPay(open + 1, restUsd)) {
        break;
      }
      this.#page.shift();
      if (spent !== undefined) {
        this.#postponed.push({ row, spent });
      } else if (!this.#taken.has(name)) {
        const atMs = this.#scoring.monotonicMs();
        this.#taken.set(name, { atMs, decidedAtMs: row.decidedAt, isDone: false });
        keys.push(keyOf(row));
        open += 1;
      }
    }
    return keys;
  }

  /** Notes that a trace was scored, or was not. */
  done({ key, waiting, decisions }: TraceOutcome): void {
    const taken = this.#taken.get(joinTraceKey(key));
    // A trace that was left waits for slots, so it is still under way.
    if (taken !== undefined && waiting.length === 0) {
      taken.isDone = true;
      const costUsd = decisions.reduce((sum, row) => sum + (row.costUsd ?? 0), 0);
      if (costUsd > 0) {
        this.#meanUsd = this.#meanUsd === null ? costUsd : this.#meanUsd + WEIGHT * (costUsd - this.#meanUsd);
      }
    }
  }

  /** Returns true when the money pays for so many traces. Until a cost is known, one trace is under way. */
  #mayPay(traces: number, restUsd: number): boolean {
    return this.#meanUsd !== null && traces * this.#meanUsd <= restUsd;
  }

  /** Begins again, because traces came to this process or left it. */
  restart(): void {
    this.#page = [];
    this.#taken.clear();
    this.#readDueMs = 0;
  }

  #countOpen(): number {
    const sinceMs = this.#scoring.monotonicMs() - UNDER_WAY_MS;
    return [...this.#taken.values()].filter(({ isDone, atMs }) => !isDone && atMs >= sinceMs).length;
  }

  /** Returns the facts of a decision that decide which budgets pay for it. */
  #callOf({ rule, tenant }: Pick<Decision, 'rule' | 'tenant'>) {
    const prepared = this.#rules.get(rule);
    return { rule: prepared?.paidBy ?? rule, caps: prepared?.budget, tenant };
  }

  /** Reads the next decisions to work on. Returns true when no process has any. */
  async #readPage(clock: StoreClock): Promise<boolean> {
    const { stores, monotonicMs } = this.#scoring;
    const nowMs = clock.nowMs();
    const isAlone = this.#ownership.shards() === null;
    const stuck = this.#taken.size - this.#countOpen();
    const limit = (isAlone ? PAGE : this.#window) + stuck;
    const { order } = this.#scoring.catchUp;
    const query = { untilMs: nowMs, order, shards: null, limit, ofSessions: this.#ofSessions };
    const rows = await stores.decisions.heldBack(query);
    this.#forget(rows);
    const { own } = await takeOwn(this.#scoring, this.#ownership, rows, nowMs);
    if (own.length > 0 || rows.length < limit) {
      this.#foundOwnMs = monotonicMs();
      this.#window = BATCH;
    } else if (monotonicMs() - this.#foundOwnMs > WIDEN_MS) {
      this.#window = Math.min(2 * this.#window, PAGE);
    }
    this.#page = own.filter((row) => !this.#taken.has(joinTraceKey(keyOf(row))));
    await this.#refreshBudgets(clock);
    return rows.length === 0;
  }

  /** Forgets traces that are done. A trace whose decision did not change stays for a while, so that it is not read again and again. */
  #forget(rows: readonly Decision[]): void {
    const nowMs = this.#scoring.monotonicMs();
    const current = new Map(rows.map((row) => [joinTraceKey(keyOf(row)), row.decidedAt]));
    for (const [name, { atMs, isDone, decidedAtMs }] of this.#taken) {
      const leaveMs = isDone ? LEAVE_MS : UNDER_WAY_MS;
      if (nowMs - atMs > leaveMs || (isDone && current.get(name) !== decidedAtMs)) {
        this.#taken.delete(name);
      }
    }
  }

  /** Reads the budgets of the decisions, so that no trace is read whose money is spent. */
  async #refreshBudgets(clock: StoreClock): Promise<void> {
    const pairs = new Map(this.#page.map((row) => [JSON.stringify([row.rule, row.tenant]), row]));
    for (const row of pairs.values()) {
      await this.#scoring.budget.refresh(this.#callOf(row), () => clock.nowMs());
    }
  }

  /** Ends decisions on traces that are too old. Returns true when there may be more of them. */
  async #endOld(nowMs: number): Promise<boolean> {
    const { stores, decisionWriter } = this.#scoring;
    const { order, maxAgeMs } = this.#scoring.catchUp;
    const query = {
      evidenceBeforeMs: nowMs - maxAgeMs,
      order,
      shards: this.#ownership.shards(),
      limit: WRITE_LIMIT,
      ofSessions: this.#ofSessions,
    };
    const rows = await stores.decisions.heldBack(query);
    const { own } = await takeOwn(this.#scoring, this.#ownership, rows, nowMs);
    await decisionWriter.write(own.map((row) => buildLapsedRow(row, maxAgeMs, nowMs)));
    return own.length >= WRITE_LIMIT;
  }
}
