import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import type { ReadPiece } from './read/piece.ts';
import { readSlices, type ReadTrace } from './read/read-slices.ts';
import { addFacts, readKnownRuns } from './runs/record-runs.ts';
import { scoreTask } from './apply-rules.ts';
import { scoreJoined } from './score-joined.ts';
import type { Scoring } from './scoring.ts';
import { buildExpiredRow } from './record/decision-rows.ts';
import type { RecordContext } from './record/record-context.ts';
import type { ScoringMode } from './scoring-mode.ts';
import { computeWaitUntil, type TraceCandidate } from './select/select-rules.ts';
import type { SelectContext } from './select/select-context.ts';
import { readFacts, selectTrace, type Selected } from './select/select-traces.ts';
import { findJoinedRuns } from './read/sibling-traces.ts';
import { readStoreClock, type StoreClock } from './store-clock.ts';
import { buildOutcome, type TraceOutcome, type TraceTask } from './trace-task.ts';

/** Most traces of one look-up: the limit of a read of the store. */
const KEYS_PER_LOOKUP = 500;

/** A trace to score. */
export interface WorkItem extends TraceKey {
  /** True when new spans came but the last arrival did not change, because an insert committed late. */
  readonly reread?: boolean | undefined;
}

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
  for (let start = 0; start < items.length; start += KEYS_PER_LOOKUP) {
    await scoreSlice(scoring, items.slice(start, start + KEYS_PER_LOOKUP), mode, settle);
  }
  return items.map((item) => outcomes.get(joinTraceKey(item)) ?? buildOutcome(item));
}

async function scoreSlice(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  settle: Settle,
): Promise<void> {
  const clock = await readStoreClock(scoring.stores.spans, scoring.monotonicMs);
  const candidates = await findCandidates(scoring, items, mode, clock, settle);
  const facts = await readFacts(scoring, candidates, mode);
  const existing = await scoring.stores.scores.ofTraces(candidates.map((each) => each.activity));
  const knownRuns = await readKnownRuns(scoring.stores, candidates, mode);
  const toRead = new Map<string, Selected>();
  const direct: Selected[] = [];
  for (const candidate of candidates) {
    const key = joinTraceKey(candidate.activity);
    const lookups = {
      facts: facts.get(key),
      existing: existing.get(key) ?? [],
      knownRuns: knownRuns.get(key) ?? [],
      clock,
    };
    const selected = selectTrace(candidate, lookups, mode);
    if (selected.rules.length > 0) {
      toRead.set(key, selected);
    } else if (selected.declined.length > 0) {
      direct.push(selected);
    } else {
      settle(
        buildOutcome(candidate.activity, {
          activity: candidate.activity,
          postponed: listPostponed(candidate),
        }),
      );
    }
  }
  const queue = new PQueue({ concurrency: scoring.traceConcurrency });
  const start = (selected: Selected, read: TraceTask['read']) =>
    void queue.add(async () => {
      settle(await scoreTask(scoring, { ...selected, read }, mode));
    });
  (await addFacts(scoring.stores, direct, mode)).forEach((selected) => start(selected, null));
  const keys = [...toRead.values()].map((selected) => selected.key);
  for await (const slice of readSlices(scoring.stores.spans, keys)) {
    await startJoined(scoring, slice, { toRead, mode, clock, queue, settle });
    for (const read of slice) {
      const selected = toRead.get(joinTraceKey(read.key));
      if (selected !== undefined) {
        start(selected, 'data' in read ? read.data : read.error);
      }
    }
    await queue.onSizeLessThan(scoring.traceConcurrency);
  }
  await queue.onIdle();
}

interface Joining {
  readonly toRead: Map<string, Selected>;
  readonly mode: ScoringMode;
  readonly clock: StoreClock;
  readonly queue: PQueue;
  readonly settle: Settle;
}

/** Starts the runs of which some traces are pieces, and removes their members from the traces to read. */
async function startJoined(
  scoring: Scoring,
  slice: readonly ReadTrace[],
  { toRead, mode, clock, queue, settle }: Joining,
): Promise<void> {
  const { joining } = scoring;
  if (joining === null) {
    return;
  }
  const reads = slice.flatMap((read): ReadPiece[] => {
    const selected = toRead.get(joinTraceKey(read.key));
    return 'data' in read && selected !== undefined ? [{ activity: selected.activity, data: read.data }] : [];
  });
  for (const run of await findJoinedRuns({ spans: scoring.stores.spans, ...joining }, reads)) {
    const triggers = run.members.flatMap((member) => toRead.get(joinTraceKey(member)) ?? []);
    triggers.forEach(({ key }) => toRead.delete(joinTraceKey(key)));
    void queue.add(async () => {
      const outcomes = await scoreJoined(scoring, { run, triggers, clock }, mode);
      outcomes.forEach(settle);
    });
  }
}

/** Finds the traces that are stored, have an agent and are ready, with their current decisions. */
async function findCandidates(
  { stores, readiness, claims, decisionWriter }: SelectContext & Pick<RecordContext, 'decisionWriter'>,
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
    const candidate = { activity, claim, prior, reread: item.reread ?? false, nowMs: clock.nowMs() };
    const waitUntilMs = mode.waits ? computeWaitUntil(candidate, readiness) : null;
    if (waitUntilMs === null) {
      candidates.set(key, candidate);
    } else {
      settle(buildOutcome(item, { activity, waitUntilMs }));
    }
  }
  return [...candidates.values()];
}

/** Returns true for a trace that arrived before the store knew its convention: live scoring leaves it to a backfill. */
function isLeftToBackfill({ knownLate = false }: TraceActivity, { history }: ScoringMode): boolean {
  return knownLate && history !== null;
}

/** Lists the rows that this process tries again later: another process may have written them. */
function listPostponed({ prior, claim, nowMs }: TraceCandidate): Decision[] {
  return prior.filter((row) => claim.owns(row.rule, row.scorer) && (row.nextAttemptAt ?? 0) > nowMs);
}

/** Lists the retries of deferred decisions, by the store's clock. */
export function listNextAttempts(decisions: readonly Decision[]): { key: TraceKey; atMs: number }[] {
  return decisions.flatMap(({ tenant, traceId, status, nextAttemptAt }) =>
    status === 'deferred' && nextAttemptAt !== null
      ? [{ key: { tenant, traceId }, atMs: nextAttemptAt }]
      : [],
  );
}
