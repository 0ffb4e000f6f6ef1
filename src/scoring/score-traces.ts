import { readLookups, selectTrace, addFacts, findUnread, type Selected } from './select/select-traces.ts';
import type { WorkItem, WaitingRuns, Reservation } from './live/queue.ts';
import PQueue from 'p-queue';
import type { TraceData } from '../domain/trace/span.ts';
import { isHeldBack, type Decision } from '../domain/decision.ts';
import { allSettled } from '../domain/waits.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import { findJoinedRuns, findPiece, type ReadPiece } from './read/sibling-traces.ts';
import { findSlots } from './attempt/run-pair.ts';
import { readSlices, type ReadMemory } from './read/read-slices.ts';
import { scoreTask } from './apply-rules.ts';
import { scoreJoined } from './score-joined.ts';
import { readStoreClock, type StoreClock } from './live/timers.ts';
import type { Scoring } from './scoring.ts';
import { buildExpiredRow } from './record/decision-rows.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { OVERLAP_MS } from '../readiness/readiness.ts';
import { computeWaitUntil } from './select/select-rules.ts';
import {
  buildOutcome,
  isTraceData,
  type TraceCandidate,
  type TraceOutcome,
  type TraceTask,
} from './trace-task.ts';

/**
 * Time after which a trace is looked up again whose activity is behind its arrivals, milliseconds: an insert shows its rows in one table
 * after the other.
 */
const BEHIND_WAIT_MS = 200;

/**
 * Scores traces: the one path of live scoring, backfills, single scores and previews. Calls `onOutcome` for each trace as soon as
 * it is done, and returns one outcome per trace, in the order of `items`. A trace that breaks off has an `error` and stays
 * undecided. Throws `AppError` only when the store cannot be read.
 */
export async function scoreTraces(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  onOutcome: (outcome: TraceOutcome) => void = () => undefined,
): Promise<TraceOutcome[]> {
  const outcomes = new Map<string, TraceOutcome>();
  const settle = (outcome: TraceOutcome) => {
    outcomes.set(joinTraceKey(outcome.key), outcome);
    onOutcome(outcome);
  };
  for (let start = 0; start < items.length; start += scoring.tracesPerBatch) {
    const slice = items.slice(start, start + scoring.tracesPerBatch);
    await new Batch(scoring, mode, settle).score(slice);
  }
  return items.map((item) => outcomes.get(joinTraceKey(item)) ?? buildOutcome(item));
}

/** Traces that are looked up together. */
class Batch {
  readonly #scoring: Scoring;
  readonly #mode: ScoringMode;
  /** Called with the outcome of every trace as soon as it is done. */
  readonly #settle: (outcome: TraceOutcome) => void;
  /** Traces whose scorers run. */
  readonly #queue: PQueue;
  /** Content in memory, and slots, that the batch has. */
  readonly #contents = new Set<TraceData>();
  readonly #reservations = new Set<Reservation>();
  /** Runs of traces that got no slots, while other scorers of the traces run. */
  readonly #waitingRuns = new Map<string, readonly WaitingRuns[]>();

  constructor(scoring: Scoring, mode: ScoringMode, settle: (outcome: TraceOutcome) => void) {
    this.#scoring = scoring;
    this.#mode = mode;
    this.#settle = settle;
    this.#queue = new PQueue({ concurrency: scoring.traceConcurrency });
  }

  async score(items: readonly WorkItem[]): Promise<void> {
    const { contentMemory, readTurns } = this.#scoring;
    // Smaller batches first: their traces have just become ready.
    const turn = { priority: -items.length };
    try {
      const { clock, slow } = await readTurns.add(() => this.#start(items), turn);
      const bySlots = Map.groupBy(slow, ([, { reservation }]) => reservation?.slots);
      await allSettled(
        [...bySlots].map(async ([slots, entries]) => {
          if (slots !== undefined) {
            const { memory, turns } = contentMemory.slow(slots);
            await turns.add(() => this.#read(new Map(entries), memory, clock), turn);
          }
        }),
      );
      await this.#queue.onIdle();
    } finally {
      // After a failed read, the traces under way end before anybody tries the batch again.
      this.#queue.clear();
      await this.#queue.onIdle();
      this.#contents.forEach((data) => this.#release(data));
      this.#reservations.forEach((reservation) => reservation.release());
    }
  }

  /** Looks the traces up, and reads the content of those whose scorers do not all wait. Returns the traces to read for slow scorers. */
  async #start(items: readonly WorkItem[]) {
    const { stores, monotonicMs, contentMemory } = this.#scoring;
    const waiting = findWaitingRuns(this.#scoring, this.#mode);
    const { true: left = [], false: taken = [] } = Object.groupBy(items, ({ reservation }) =>
      waiting !== null && reservation === undefined ? 'true' : 'false',
    );
    left.forEach((item) => this.#settle(buildOutcome(item, { waiting: waiting ?? [] })));
    const clock = await readStoreClock(stores.spans, monotonicMs);
    const candidates = await findCandidates(this.#scoring, taken, this.#mode, clock, this.#settle);
    const { toRead, toDecline } = await this.#select(candidates, clock);
    const { true: slow = [], false: quick = [] } = Object.groupBy(toRead, ([, { reservation }]) =>
      reservation === undefined ? 'false' : 'true',
    );
    slow.forEach(([, { reservation }]) => reservation !== undefined && this.#reservations.add(reservation));
    for (const selected of await addFacts(stores, toDecline, this.#mode)) {
      this.#score(selected, null);
    }
    await this.#read(new Map(quick), contentMemory.quick, clock);
    return { clock, slow };
  }

  /** Puts a trace into the queue of its scorers. The spans of a piece stay for the other pieces of its run. */
  #score(selected: Selected, read: TraceTask['read'], kind: 'piece' | 'whole' = 'whole'): void {
    const onRead = kind === 'whole' && isTraceData(read) ? read.forget : undefined;
    void this.#queue.add(async () => {
      const outcome = await scoreTask(this.#scoring, { ...selected, read, onRead }, this.#mode);
      selected.reservation?.release();
      if (isTraceData(read)) {
        this.#release(read);
      }
      const waiting = this.#waitingRuns.get(joinTraceKey(selected.key));
      this.#settle(waiting === undefined ? outcome : { ...outcome, waiting });
    });
  }

  #release(data: TraceData): void {
    if (this.#contents.delete(data)) {
      this.#scoring.contentMemory.release(data);
    }
  }

  /** Reads the content of traces while its part of the memory has room, and starts their scorers. */
  async #read(toRead: Map<string, Selected>, memory: ReadMemory, clock: StoreClock): Promise<void> {
    const { stores, giveTurns, traceConcurrency } = this.#scoring;
    const keys = [...toRead.values()].map((selected) => selected.key);
    for await (const slice of readSlices(stores.spans, keys, memory)) {
      slice.forEach((read) => 'data' in read && this.#contents.add(read.data));
      const pieces: ReadPiece[] = [];
      for (const read of slice) {
        const selected = toRead.get(joinTraceKey(read.key));
        if ('data' in read && selected !== undefined) {
          const piece = this.#findPiece(selected, read.data);
          pieces.push(...(piece === null ? [] : [piece]));
          await giveTurns();
        }
      }
      await this.#startJoined(pieces, toRead, memory, clock);
      const ofPieces = new Set(pieces.map(({ data }) => data));
      for (const read of slice) {
        const selected = toRead.get(joinTraceKey(read.key));
        if (selected !== undefined) {
          const content = 'data' in read ? read.data : read.error;
          this.#score(selected, content, isTraceData(content) && ofPieces.has(content) ? 'piece' : 'whole');
          await giveTurns();
        }
      }
      await this.#queue.onSizeLessThan(traceConcurrency);
    }
  }

  #findPiece({ activity }: Selected, data: TraceData): ReadPiece | null {
    const { joining } = this.#scoring;
    return joining === null ? null : findPiece(joining, { activity, data });
  }

  /** Starts the runs of which some traces are pieces, and removes their members from the traces to read. */
  async #startJoined(
    reads: readonly ReadPiece[],
    toRead: Map<string, Selected>,
    memory: ReadMemory,
    clock: StoreClock,
  ): Promise<void> {
    const { joining, stores } = this.#scoring;
    if (joining === null || reads.length === 0) {
      return;
    }
    const pieces = new Map(reads.map(({ activity, data }) => [joinTraceKey(activity), data]));
    for (const joined of await findJoinedRuns({ spans: stores.spans, ...joining }, reads)) {
      const triggers = joined.members.flatMap((member) => toRead.get(joinTraceKey(member)) ?? []);
      triggers.forEach(({ key }) => toRead.delete(joinTraceKey(key)));
      // The content of the run stands for its pieces: it can wait for slow scorers.
      const parts = joined.members.flatMap((member) => pieces.get(joinTraceKey(member)) ?? []);
      const size = parts.reduce((sum, part) => sum + (part.size ?? 0), 0);
      const run = { ...joined, data: { ...joined.data, size } };
      memory.add([run.data]);
      this.#contents.add(run.data);
      parts.forEach((part) => this.#release(part));
      void this.#queue.add(async () => {
        const outcomes = await scoreJoined(this.#scoring, { run, triggers, clock }, this.#mode);
        triggers.forEach(({ reservation }) => reservation?.release());
        this.#release(run.data);
        outcomes.forEach(this.#settle);
      });
    }
  }

  /** Selects the rules of each candidate. Settles candidates that need no work now. */
  async #select(candidates: readonly TraceCandidate[], clock: StoreClock) {
    const { stores } = this.#scoring;
    const findLookups = await readLookups(this.#scoring, candidates, { clock, mode: this.#mode });
    const unread = await findUnread(stores, candidates, this.#mode);
    const toRead: (readonly [string, Selected])[] = [];
    /** Traces whose rules decline them, or get no slots now: their content is not read. */
    const toDecline: Selected[] = [];
    for (const candidate of candidates) {
      const { activity } = candidate;
      const key = joinTraceKey(activity);
      const selected = selectTrace(candidate, findLookups(candidate), this.#mode);
      const { reservation, waiting } = reserveSlots(selected, this.#scoring, this.#mode);
      const isRead = unread.has(key) || (waiting.length === 0 && selected.rules.length > 0);
      if (waiting.length > 0 && (isRead || selected.declined.length > 0)) {
        this.#waitingRuns.set(key, waiting);
      }
      if (isRead) {
        toRead.push([key, { ...selected, rules: waiting.length === 0 ? selected.rules : [], reservation }]);
      } else if (selected.declined.length > 0) {
        toDecline.push({ ...selected, rules: [] });
      } else {
        this.#settle(buildOutcome(activity, { activity, waiting, postponed: listPostponed(candidate) }));
      }
    }
    return { toRead, toDecline };
  }
}

/**
 * Finds the runs of any trace, where all of them wait for the same slots and none is free: then no trace is looked up before its turn. Null
 * while there are slots, and for rules that leave out traces or have a quick scorer.
 */
function findWaitingRuns(
  scoring: Scoring,
  { rules, sessionRules, admission }: ScoringMode,
): readonly WaitingRuns[] | null {
  const allSlots = rules.flatMap(({ scorers }) => scorers.map((bound) => findSlots(bound, scoring)));
  const [slots] = allSlots;
  const takesAll = rules.every(
    ({ where = {}, sample }) => sample.rate === 1 && Object.keys(where).length === 0,
  );
  return admission !== null &&
    slots &&
    takesAll &&
    sessionRules.length === 0 &&
    allSlots.every((each) => each === slots) &&
    admission.isFull(slots)
    ? [{ slots, runs: allSlots.length }]
    : null;
}

/** Finds the traces that are stored, have an agent and are ready, with their current decisions. */
async function findCandidates(
  { stores, readiness, claims, decisionWriter }: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  clock: StoreClock,
  settle: (outcome: TraceOutcome) => void,
): Promise<TraceCandidate[]> {
  // A claim is older than every row that is read under it.
  const claimed = new Map(
    items.flatMap((item) => claims.claim(item) ?? []).map((claim) => [joinTraceKey(claim.key), claim]),
  );
  const [activities, decisions] = await Promise.all([
    stores.spans.activity(items),
    stores.decisions.ofTraces(items),
  ]);
  const names = new Set(mode.rules.map((rule) => rule.name));
  const candidates = new Map<string, TraceCandidate>();
  for (const item of items) {
    const key = joinTraceKey(item);
    const activity = activities.get(key);
    const claim = claimed.get(key);
    const prior = (decisions.get(key) ?? []).filter((row) => names.has(row.rule));
    if (isBehind(item, activity, clock)) {
      const waitUntilMs = clock.nowMs() + BEHIND_WAIT_MS;
      settle(buildOutcome(item, { activity: activity ?? null, waitUntilMs }));
      continue;
    }
    if (claim !== undefined && activity === undefined && mode.history !== null) {
      const expired = prior.filter((row) => row.status === 'deferred' && claim.owns(row.rule, row.scorer));
      const rows = expired.map((row) => buildExpiredRow(row, clock.nowMs()));
      await decisionWriter.write(rows);
      settle(buildOutcome(item, { decisions: rows }));
      continue;
    }
    if (
      claim === undefined ||
      activity === undefined ||
      !activity.agentSeen ||
      isLeftToBackfill(activity, mode)
    ) {
      settle(buildOutcome(item, { activity: activity ?? null }));
      continue;
    }
    const candidate = {
      activity,
      claim,
      prior,
      reread: item.reread ?? false,
      readyAtMs: item.readyAtMs,
      reservation: item.reservation,
      nowMs: clock.nowMs(),
    };
    const waitUntilMs = mode.waits ? computeWaitUntil(candidate, readiness) : null;
    if (waitUntilMs === null) {
      candidates.set(key, candidate);
    } else {
      settle(buildOutcome(item, { activity, waitUntilMs }));
    }
  }
  return [...candidates.values()];
}

/**
 * Returns true when the activity lacks an arrival that the tail has seen: scored now, the trace would count as undecided, and only the
 * sweep would find it. After the time of the longest insert, such an arrival is no longer waited for.
 */
function isBehind({ arrivedMs }: WorkItem, activity: TraceActivity | undefined, clock: StoreClock): boolean {
  return (
    arrivedMs !== undefined &&
    arrivedMs > (activity?.lastArrivalMs ?? -Infinity) &&
    Math.abs(clock.nowMs() - arrivedMs) < OVERLAP_MS
  );
}

/** Returns true for a trace that arrived before the store knew its convention: live scoring leaves it to a backfill. */
function isLeftToBackfill({ knownLate = false }: TraceActivity, { history }: ScoringMode): boolean {
  return knownLate && history !== null;
}

/**
 * Reserves slots for a trace whose scorers are all slow, before its content is read. Returns the runs that are left when none of
 * their slots are free: then the content is not read. A trace with a quick scorer is read in any case, and so is one whose rule
 * decides by the content: most such traces need no slots.
 */
function reserveSlots(
  selected: Selected,
  scoring: Scoring,
  { admission }: ScoringMode,
): { readonly reservation: Reservation | undefined; readonly waiting: readonly WaitingRuns[] } {
  const allSlots = selected.rules.flatMap(({ scorers, pending }) =>
    scorers.map((bound) => (pending === null ? findSlots(bound, scoring) : null)),
  );
  const [first] = allSlots;
  if (admission === null || selected.reservation !== undefined || allSlots.includes(null) || !first) {
    return { reservation: selected.reservation, waiting: [] };
  }
  const waiting: WaitingRuns[] = [];
  for (const [slots, { length: runs }] of Map.groupBy(allSlots, (each) => each ?? first)) {
    const reservation = admission.admit(slots, runs);
    if (reservation !== null) {
      return { reservation, waiting: [] };
    }
    waiting.push({ slots, runs });
  }
  return { reservation: undefined, waiting };
}

/** Lists the rows that this process tries again later: another process may have written them. */
function listPostponed({ prior, claim, nowMs }: TraceCandidate): Decision[] {
  return prior.filter((row) => claim.owns(row.rule, row.scorer) && (row.nextAttemptAt ?? 0) > nowMs);
}

/** Lists the retries of deferred decisions, by the store's clock. The catch-up finds those that a budget holds back. */
export function listNextAttempts(decisions: readonly Decision[]): { key: TraceKey; atMs: number }[] {
  return decisions.flatMap((row) => {
    const { tenant, traceId, status, nextAttemptAt } = row;
    return status === 'deferred' && nextAttemptAt !== null && !isHeldBack(row)
      ? [{ key: { tenant, traceId }, atMs: nextAttemptAt }]
      : [];
  });
}
