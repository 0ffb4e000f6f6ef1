import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import { AppError, messageOf } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import { traceKeyOf, type TraceFacts, type TraceKey } from '../store/contracts/stores.ts';
import { readSlices } from './read-slices.ts';
import { scoreTrace } from './score-trace.ts';
import type { Scoring } from './scoring.ts';
import type { ScoringMode } from './scoring-mode.ts';
import {
  needsFacts,
  openRules,
  selectRule,
  waitUntil,
  type SelectedRule,
  type TraceCandidate,
} from './select-rules.ts';
import { readStoreClock, type StoreClock } from './store-clock.ts';
import { emptyOutcome, type TraceOutcome, type TraceTask } from './trace-task.ts';
import { attributeKeysOf } from './where.ts';

/** Most traces that are looked up at a time; the store's own limit of a read. */
const KEYS_PER_LOOKUP = 500;

/** A trace to score. */
export interface WorkItem extends TraceKey {
  /** Spans came although the last arrival did not move (an insert that committed late): look again. */
  readonly reread?: boolean | undefined;
}

/** A trace whose rules have been selected and whose content is not read yet. */
type Selected = Omit<TraceTask, 'read'>;

/** Told of every trace as soon as it is done. */
type Settle = (outcome: TraceOutcome) => void;

/**
 * Scores traces: the one path of live scoring, backfills, single scores and previews. One outcome for each key, in their
 * order, and `onOutcome` is told of each as soon as it is known. A trace that breaks off has its `error` and stays undecided; throws `AppError` only when the store cannot be read.
 */
export async function scoreTraces(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  onOutcome: (outcome: TraceOutcome) => void = () => undefined,
): Promise<TraceOutcome[]> {
  const outcomes = new Map<string, TraceOutcome>();
  const settle: Settle = (outcome) => {
    outcomes.set(traceKeyOf(outcome.key), outcome);
    onOutcome(outcome);
  };
  for (let start = 0; start < items.length; start += KEYS_PER_LOOKUP) {
    await scoreSlice(scoring, items.slice(start, start + KEYS_PER_LOOKUP), mode, settle);
  }
  return items.map((item) => outcomes.get(traceKeyOf(item)) ?? emptyOutcome(item));
}

async function scoreSlice(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  settle: Settle,
): Promise<void> {
  const clock = await readStoreClock(scoring.stores.spans, scoring.monotonicMs);
  const candidates = await lookUp(scoring, items, mode, clock, settle);
  const facts = await factsOf(scoring, candidates, mode);
  const existing = await scoring.stores.scores.ofTraces(candidates.map((each) => each.activity));
  const toRead = new Map<string, Selected>();
  const direct: Selected[] = [];
  for (const candidate of candidates) {
    const key = traceKeyOf(candidate.activity);
    const selected = select(candidate, facts.get(key), existing.get(key) ?? [], mode, clock);
    if (selected.rules.length > 0) {
      toRead.set(key, selected);
    } else if (selected.declined.length > 0) {
      direct.push(selected);
    } else {
      settle(emptyOutcome(candidate.activity, { activity: candidate.activity }));
    }
  }
  const queue = new PQueue({ concurrency: scoring.limits.traceConcurrency });
  const start = (selected: Selected, read: TraceTask['read']) =>
    void queue.add(async () => {
      settle(await scoreOne(scoring, { ...selected, read }, mode));
    });
  direct.forEach((selected) => start(selected, null));
  const keys = [...toRead.values()].map((selected) => selected.key);
  for await (const slice of readSlices(scoring.stores.spans, keys)) {
    for (const read of slice) {
      const selected = toRead.get(traceKeyOf(read.key));
      if (selected !== undefined) {
        start(selected, 'data' in read ? read.data : read.error);
      }
    }
    await queue.onSizeLessThan(scoring.limits.traceConcurrency);
  }
  await queue.onIdle();
}

/** Traces that are known, have an agent and are not still arriving, with their current decisions. */
async function lookUp(
  scoring: Scoring,
  items: readonly WorkItem[],
  mode: ScoringMode,
  clock: StoreClock,
  settle: Settle,
): Promise<TraceCandidate[]> {
  const [activities, decisions] = await Promise.all([
    scoring.stores.spans.activity(items),
    scoring.stores.decisions.ofTraces(items),
  ]);
  const names = new Set(mode.rules.map((rule) => rule.name));
  const candidates = new Map<string, TraceCandidate>();
  for (const item of items) {
    const key = traceKeyOf(item);
    const activity = activities.get(key);
    if (activity === undefined || !activity.agentSeen) {
      settle(emptyOutcome(item, { activity: activity ?? null }));
      continue;
    }
    const prior = (decisions.get(key) ?? []).filter((row) => names.has(row.rule));
    const candidate = { activity, prior, reread: item.reread ?? false, nowMs: clock.nowMs() };
    const waitUntilMs = mode.waits ? waitUntil(candidate, scoring.limits) : null;
    if (waitUntilMs === null) {
      candidates.set(key, candidate);
    } else {
      settle(emptyOutcome(item, { activity, waitUntilMs }));
    }
  }
  return [...candidates.values()];
}

async function factsOf(
  scoring: Scoring,
  candidates: readonly TraceCandidate[],
  mode: ScoringMode,
): Promise<Map<string, TraceFacts>> {
  if (!mode.selects) {
    return new Map();
  }
  const wanting = candidates.filter((candidate) =>
    needsFacts(openRules(candidate, mode).open.map((each) => each.rule)),
  );
  if (wanting.length === 0) {
    return new Map();
  }
  const attributeKeys = new Set(mode.rules.flatMap((rule) => attributeKeysOf(rule.where)));
  return scoring.stores.spans.facts(
    wanting.map((each) => each.activity),
    [...attributeKeys],
  );
}

function select(
  candidate: TraceCandidate,
  facts: TraceFacts | undefined,
  existing: readonly Score[],
  mode: ScoringMode,
  clock: StoreClock,
): Selected {
  const { activity } = candidate;
  const { open, settled } = openRules(candidate, mode);
  const selections = open.map((each) => selectRule(each, candidate, facts, mode));
  return {
    key: { tenant: activity.tenant, traceId: activity.traceId },
    activity,
    rules: selections.flatMap((each): SelectedRule[] => (each.outcome === 'selected' ? [each.selected] : [])),
    declined: selections.filter((each) => each.outcome === 'declined'),
    settled,
    existing,
    reread: candidate.reread,
    clock,
  };
}

/** One bad trace never stops the rest: what it throws becomes its outcome. */
async function scoreOne(scoring: Scoring, task: TraceTask, mode: ScoringMode): Promise<TraceOutcome> {
  try {
    return await scoreTrace(scoring, task, mode);
  } catch (error) {
    return emptyOutcome(task.key, { activity: task.activity, error: asAppError(error) });
  }
}

function asAppError(error: unknown): AppError {
  return error instanceof AppError
    ? error
    : new AppError(`scoring a trace failed: ${messageOf(error)}`, {
        code: 'bug',
        stage: 'judge',
        retryable: true,
        cause: error,
      });
}

/** The earliest retry among an outcome's rows, by the store's clock; null when none is deferred. */
export function nextAttemptOf(decisions: readonly Decision[]): number | null {
  const times = decisions.flatMap((row) => (row.status === 'deferred' ? (row.nextAttemptAt ?? []) : []));
  return times.length === 0 ? null : Math.min(...times);
}
