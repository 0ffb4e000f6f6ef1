import type { WorkItem, LeftRuns, Room } from './live/queue.ts';
import PQueue from 'p-queue';
import type { TraceData } from '../domain/trace/span.ts';
import { isHeldBack, type Decision } from '../domain/decision.ts';
import { allSettled } from '../domain/waits.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import { findJoinedRuns, type ReadPiece } from './read/sibling-traces.ts';
import { findStock } from './attempt/run-cell.ts';
import { readSlices, type ReadMemory, type ContentMemory, type ReadTrace } from './read/read-slices.ts';
import { addFacts, findUnread, readKnownRuns } from './record/record-runs.ts';
import { scoreTask } from './apply-rules.ts';
import { scoreJoined } from './score-joined.ts';
import { readStoreClock, type StoreClock } from './live/timers.ts';
import type { Scoring } from './scoring.ts';
import { buildExpiredRow } from './record/decision-rows.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { OVERLAP_MS } from '../readiness/readiness.ts';
import { computeWaitUntil, type TraceCandidate } from './select/select-rules.ts';
import { findVersionStates, readFacts, selectTrace, type Selected } from './select/select-traces.ts';
import { buildOutcome, isTraceData, type TraceOutcome, type TraceTask } from './trace-task.ts';

/**
 * Time after which a trace is looked up again whose activity is behind its arrivals, milliseconds: an insert shows its rows in one table
 * after the other.
 */
const BEHIND_WAIT_MS = 200;

/** Called with the outcome of every trace as soon as it is done. */
type Settle = (outcome: TraceOutcome) => void;

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
  const settle: Settle = (outcome) => {
    outcomes.set(joinTraceKey(outcome.key), outcome);
    onOutcome(outcome);
  };
  for (let start = 0; start < items.length; start += scoring.tracesPerBatch) {
    await scoreSlice(scoring, items.slice(start, start + scoring.tracesPerBatch), mode, settle);
  }
  return items.map((item) => outcomes.get(joinTraceKey(item)) ?? buildOutcome(item));
}

async function scoreSlice(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  settle: Settle,
): Promise<void> {
  const queue = new PQueue({ concurrency: scoring.traceConcurrency });
  const holdings = createHoldings(scoring.contentMemory);
  // Smaller batches first: their traces have just become ready.
  const turn = { priority: -items.length };
  try {
    const batch = await scoring.readTurns.add(
      () => startBatch(scoring, items, { mode, settle, queue, holdings }),
      turn,
    );
    const slow = Map.groupBy(batch.slow, ([, { room }]) => room?.stock);
    await allSettled(
      [...slow].map(async ([stock, entries]) => {
        if (stock !== undefined) {
          const { memory, turns } = scoring.contentMemory.slow(stock);
          await turns.add(() => readSelected(scoring, batch, { toRead: new Map(entries), memory }), turn);
        }
      }),
    );
    await queue.onIdle();
  } finally {
    // After a failed read, the traces under way end before anybody tries the batch again.
    queue.clear();
    await queue.onIdle();
    holdings.releaseAll();
  }
}

interface BatchRun {
  readonly mode: ScoringMode;
  readonly settle: Settle;
  readonly queue: PQueue;
  readonly holdings: Holdings;
}

/** A batch that was looked up. */
interface Batch extends BatchRun {
  readonly clock: StoreClock;
  /** Traces to read for slow scorers that have room. */
  readonly slow: readonly (readonly [string, Selected])[];
  /** Puts a trace into the queue of its scorers. */
  readonly start: (selected: Selected, read: TraceTask['read']) => void;
}

/** Looks the traces up, and reads the content of those whose scorers do not all wait. */
async function startBatch(scoring: Scoring, items: readonly WorkItem[], run: BatchRun): Promise<Batch> {
  const { mode, settle, queue, holdings } = run;
  const clock = await readStoreClock(scoring.stores.spans, scoring.monotonicMs);
  const candidates = await findCandidates(scoring, items, mode, clock, settle);
  const { toRead, toDecline, leftRuns } = await selectCandidates(scoring, candidates, {
    mode,
    clock,
    settle,
  });
  toRead.forEach(({ room }) => holdings.addRoom(room));
  const start = (selected: Selected, read: TraceTask['read']) =>
    void queue.add(async () => {
      const outcome = await scoreTask(scoring, { ...selected, read }, mode);
      selected.room?.release();
      if (isTraceData(read)) {
        holdings.releaseContent(read);
      }
      const left = leftRuns.get(joinTraceKey(selected.key));
      settle(left === undefined ? outcome : { ...outcome, left });
    });
  (await addFacts(scoring.stores, toDecline, mode)).forEach((selected) => start(selected, null));
  const entries = [...toRead];
  const slow = entries.filter(([, { room }]) => room !== undefined);
  const quick = new Map(entries.filter(([, { room }]) => room === undefined));
  const batch = { ...run, clock, slow, start };
  await readSelected(scoring, batch, { toRead: quick, memory: scoring.contentMemory.quick });
  return batch;
}

/** Reads the content of traces while its part of the memory has room, and starts their scorers. */
async function readSelected(
  scoring: Scoring,
  batch: Batch,
  { toRead, memory }: { readonly toRead: Map<string, Selected>; readonly memory: ReadMemory },
): Promise<void> {
  const { holdings, start, queue } = batch;
  const keys = [...toRead.values()].map((selected) => selected.key);
  for await (const slice of readSlices(scoring.stores.spans, keys, memory)) {
    slice.forEach((read) => 'data' in read && holdings.addContent(read.data));
    await startJoined(scoring, slice, { ...batch, toRead, memory });
    for (const read of slice) {
      const selected = toRead.get(joinTraceKey(read.key));
      if (selected !== undefined) {
        start(selected, 'data' in read ? read.data : read.error);
        await scoring.giveTurns();
      }
    }
    await queue.onSizeLessThan(scoring.traceConcurrency);
  }
}

/** Candidates by their next step. */
interface SelectedTraces {
  readonly toRead: Map<string, Selected>;
  /** Traces whose rules decline them, or have no room now: their content is not read. */
  readonly toDecline: readonly Selected[];
  /** Runs of `toDecline` that found no room. */
  readonly leftRuns: ReadonlyMap<string, readonly LeftRuns[]>;
}

/** Room for the runs of a trace, or the runs that found none. */
interface Reservation {
  readonly room: Room | undefined;
  readonly left: readonly LeftRuns[];
}

/** Selects the rules of each candidate. Settles candidates that need no work now. */
async function selectCandidates(
  scoring: Scoring,
  candidates: readonly TraceCandidate[],
  { mode, clock, settle }: { mode: ScoringMode; clock: StoreClock; settle: Settle },
): Promise<SelectedTraces> {
  const facts = await readFacts(scoring, candidates, mode);
  const versions = await findVersionStates(scoring, candidates, facts, mode);
  const existingReadMs = scoring.monotonicMs();
  const existing = await scoring.stores.scores.ofTraces(candidates.map((each) => each.activity));
  const knownRuns = await readKnownRuns(scoring.stores, candidates, mode);
  const unread = await findUnread(scoring.stores, candidates, mode);
  const toRead = new Map<string, Selected>();
  const toDecline: Selected[] = [];
  const leftRuns = new Map<string, readonly LeftRuns[]>();
  for (const candidate of candidates) {
    const { activity } = candidate;
    const key = joinTraceKey(activity);
    const lookups = {
      facts: facts.get(key),
      versions: versions.get(key),
      existing: existing.get(key) ?? [],
      existingReadMs,
      knownRuns: knownRuns.get(key) ?? [],
      clock,
    };
    const selected = selectTrace(candidate, lookups, mode);
    const { room, left } = reserveRoom(selected, scoring, mode);
    const isRead = unread.has(key) || (left.length === 0 && selected.rules.length > 0);
    if (isRead) {
      toRead.set(key, { ...selected, rules: left.length === 0 ? selected.rules : [], room });
    }
    if (left.length > 0 && (isRead || selected.declined.length > 0)) {
      leftRuns.set(key, left);
    }
    if (isRead) {
      continue;
    }
    if (selected.declined.length > 0) {
      toDecline.push({ ...selected, rules: [] });
    } else {
      settle(buildOutcome(activity, { activity, left, postponed: listPostponed(candidate) }));
    }
  }
  return { toRead, toDecline, leftRuns };
}

interface Joining extends BatchRun {
  readonly clock: StoreClock;
  readonly toRead: Map<string, Selected>;
  /** Memory of the slice. */
  readonly memory: ReadMemory;
}

/** Starts the runs of which some traces are pieces, and removes their members from the traces to read. */
async function startJoined(
  scoring: Scoring,
  slice: readonly ReadTrace[],
  { toRead, memory, mode, clock, queue, settle, holdings }: Joining,
): Promise<void> {
  const { joining } = scoring;
  if (joining === null) {
    return;
  }
  const reads = slice.flatMap((read): ReadPiece[] => {
    const selected = toRead.get(joinTraceKey(read.key));
    return 'data' in read && selected !== undefined ? [{ activity: selected.activity, data: read.data }] : [];
  });
  const pieces = new Map(reads.map(({ activity, data }) => [joinTraceKey(activity), data]));
  for (const found of await findJoinedRuns({ spans: scoring.stores.spans, ...joining }, reads)) {
    const triggers = found.members.flatMap((member) => toRead.get(joinTraceKey(member)) ?? []);
    triggers.forEach(({ key }) => toRead.delete(joinTraceKey(key)));
    // The content of the run stands for its pieces: it can wait for slow scorers.
    const parts = found.members.flatMap((member) => pieces.get(joinTraceKey(member)) ?? []);
    const run = { ...found, data: { ...found.data, size: sumSizes(parts) } };
    memory.add([run.data]);
    holdings.addContent(run.data);
    parts.forEach(holdings.releaseContent);
    void queue.add(async () => {
      const outcomes = await scoreJoined(scoring, { run, triggers, clock }, mode);
      triggers.forEach(({ room }) => room?.release());
      holdings.releaseContent(run.data);
      outcomes.forEach(settle);
    });
  }
}

function sumSizes(traces: readonly TraceData[]): number {
  return traces.reduce((sum, { size = 0 }) => sum + size, 0);
}

/** Finds the traces that are stored, have an agent and are ready, with their current decisions. */
async function findCandidates(
  { stores, readiness, claims, decisionWriter }: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  clock: StoreClock,
  settle: Settle,
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
      room: item.room,
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
 * Sets room aside for a trace whose scorers are all slow, before its content is read. Returns the runs that are left when none of
 * their stocks has room: then the content is not read. A trace with a quick scorer is read in any case, and so is one whose rule
 * decides by the content: most such traces need no room.
 */
function reserveRoom(selected: Selected, scoring: Scoring, { admission }: ScoringMode): Reservation {
  const stocks = selected.rules.flatMap(({ scorers, pending }) =>
    scorers.map((bound) => (pending === null ? findStock(bound, scoring) : null)),
  );
  const [first] = stocks;
  if (admission === null || selected.room !== undefined || stocks.includes(null) || !first) {
    return { room: selected.room, left: [] };
  }
  const left: LeftRuns[] = [];
  for (const [stock, { length: runs }] of Map.groupBy(stocks, (each) => each ?? first)) {
    const room = admission.admit(stock, runs);
    if (room !== null) {
      return { room, left: [] };
    }
    left.push({ stock, runs });
  }
  return { room: undefined, left };
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

/** Content in memory and room in stocks that a batch holds. */
interface Holdings {
  addContent(data: TraceData): void;
  readonly releaseContent: (data: TraceData) => void;
  addRoom(room: Room | undefined): void;
  releaseAll(): void;
}

function createHoldings(memory: ContentMemory): Holdings {
  const held = new Set<TraceData>();
  const rooms = new Set<Room>();
  const releaseContent = (data: TraceData) => {
    if (held.delete(data)) {
      memory.release(data);
    }
  };
  return {
    addContent: (data) => void held.add(data),
    releaseContent,
    addRoom: (room) => void (room !== undefined && rooms.add(room)),
    releaseAll() {
      held.forEach(releaseContent);
      rooms.forEach((room) => room.release());
    },
  };
}
