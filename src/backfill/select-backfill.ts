import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import type { SweepSettings, ReadinessSettings } from '../readiness/readiness.ts';
import { buildRuleHistory, type PreparedRule, type Where, type RuleHistory } from '../scoring/select/rule.ts';
import type { ScoringStores } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import type { SessionSettings } from '../scoring/sessions/score-session.ts';
import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { listOpenRules, computeWaitUntil, type TraceCandidate } from '../scoring/select/select-rules.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../store/contracts/stores.ts';
import { isMetUnread, listAttributeKeys, needsFactsFor } from '../scoring/select/where.ts';
import type { BackfillRange } from './backfill-spec.ts';
import type { PageTimes } from './checkpoint.ts';

/** Time after the store's clock up to which arrivals are read, milliseconds: the clocks of replicas differ. */
const AHEAD_MS = 3_600_000;

/** Needs of the selection of a backfill. */
export interface BackfillContext {
  readonly stores: Pick<ScoringStores, 'spans' | 'decisions' | 'ruleVersions' | 'runs' | 'sessions'>;
}

/** Numbers of traces that are left to live scoring, by reason. */
interface LeftToLive {
  /** Traces that may still get spans. */
  readonly arriving: number;
  /** Traces that a live rule has yet to decide with a scorer of this backfill. */
  readonly owed: number;
}

/** Targets of one page of a backfill. */
export interface SelectedTargets<Key> {
  /** Targets to score now. */
  readonly taken: readonly Key[];
  /** Targets of `taken` without a decision of this backfill. */
  readonly fresh: ReadonlySet<Key>;
  /** Number of targets that an earlier run of this backfill has decided. */
  readonly decided: number;
  /** Decisions of this backfill on those targets. */
  readonly decisions: readonly Decision[];
  readonly leftToLive: LeftToLive;
}

/** One page of the traces of a backfill. Traces without a span of an agent or a model are left out. */
export interface BackfillPage extends SelectedTargets<TraceActivity> {
  /** Number of traces that were listed, with those that are left out. */
  readonly listed: number;
  /** Starts of the listed traces, Unix nanoseconds. */
  readonly times: PageTimes;
}

/** Live scoring: its rules, and the times that each of them covers. */
export interface Live {
  readonly rules: readonly PreparedRule[];
  readonly history: RuleHistory;
}

/** Reads since when each rule is in force. */
export async function readLive({ stores }: BackfillContext, rules: readonly PreparedRule[]): Promise<Live> {
  return { rules, history: buildRuleHistory(await stores.ruleVersions.list()) };
}

/** Place and size of a page of traces. */
export interface Listing {
  /** Only traces that start after this time, Unix nanoseconds as decimal text; null: from the begin. */
  readonly after: string | null;
  /** Most traces of a page; at most `MAX_KEYS`. */
  readonly limit: number;
}

/**
 * Selects the traces of a backfill, page by page. With rules on sessions, a trace that no process has read is selected, so that its
 * session is known. Throws `AppError` when the store cannot be read.
 */
export async function* selectBackfill(
  { stores }: BackfillContext,
  range: BackfillRange,
  selecting: Selecting,
  listing: Listing,
): AsyncGenerator<BackfillPage> {
  const { spans, decisions: decisionStore } = stores;
  const begunMs = await spans.nowMs();
  const { readiness, mode } = selecting;
  const incomplete = await readIncomplete(stores, readiness, range, begunMs);
  for await (const { traces, listed, times } of listTraces(spans, range, listing)) {
    const rows = await decisionStore.ofTraces(traces);
    const readUntil = mode.sessionRules.length === 0 ? null : await stores.runs.readUntil(traces);
    const nowMs = await spans.nowMs();
    const placed = traces.map((activity) => {
      const decisions = rows.get(joinTraceKey(activity)) ?? [];
      const missesParent = activity.rootSeen && incomplete.has(joinTraceKey(activity));
      const isArriving = activity.firstArrivalMs > begunMs || missesParent;
      const isUnread =
        readUntil !== null && (readUntil.get(joinTraceKey(activity)) ?? -1) < activity.lastArrivalMs;
      return placeTrace({ activity, decisions, isArriving, isUnread, nowMs }, selecting);
    });
    yield { ...collectTargets(placed), listed, times };
  }
}

/** Counts the targets of a page. */
export function countTargets({ taken, decided, leftToLive }: SelectedTargets<unknown>): number {
  return taken.length + decided + leftToLive.arriving + leftToLive.owed;
}

/** Place in the list before every trace of a time. */
const NO_TRACE = { tenant: '', traceId: '' };

/** Lists the traces of agents or models that meet the conditions of the range, page by page. */
export async function* listTraces(
  spans: BackfillContext['stores']['spans'],
  { fromMs, toMs, tenant, where }: BackfillRange,
  { after: first, limit }: Listing,
): AsyncGenerator<{ traces: readonly TraceActivity[] } & Pick<BackfillPage, 'listed' | 'times'>> {
  let after = first === null ? undefined : { ...NO_TRACE, startUnixNano: BigInt(first) + 1n };
  for (;;) {
    const listed = await spans.list({
      fromMs,
      toMs,
      limit,
      ...(tenant === undefined ? {} : { tenant }),
      ...(after === undefined ? {} : { after }),
    });
    const [earliest, last] = [listed[0], listed.at(-1)];
    if (earliest === undefined || last === undefined) {
      return;
    }
    after = { tenant: last.tenant, traceId: last.traceId, startUnixNano: last.firstStartUnixNano };
    const times = { first: earliest.firstStartUnixNano, last: last.firstStartUnixNano };
    const ofAgents = listed.filter((trace) => trace.agentSeen);
    const traces = where === undefined ? ofAgents : await filterTraces(spans, ofAgents, where);
    yield { traces, listed: listed.length, times };
  }
}

/** Leaves out traces that do not meet the conditions, or whose facts do not say so. */
async function filterTraces(
  spans: BackfillContext['stores']['spans'],
  traces: readonly TraceActivity[],
  where: Where,
): Promise<readonly TraceActivity[]> {
  const facts = needsFactsFor(where)
    ? await spans.facts(traces, listAttributeKeys(where), { feedback: false })
    : new Map<string, TraceFacts>();
  return traces.filter((activity) =>
    isMetUnread(where, { activity, facts: facts.get(joinTraceKey(activity)) }),
  );
}

/** A target with its place in the selection: taken, decided by an earlier run, or left to live scoring. */
export type PlacedTarget<Key> =
  | { readonly place: keyof LeftToLive }
  | { readonly place: 'decided'; readonly prior: readonly Decision[] }
  | { readonly place: 'taken'; readonly key: Key; readonly isFresh: boolean };

/** Collects the targets of a page by their places. */
export function collectTargets<Key>(placed: readonly PlacedTarget<Key>[]): SelectedTargets<Key> {
  const taken = placed.filter((each) => each.place === 'taken');
  const decided = placed.filter((each) => each.place === 'decided');
  const count = (place: keyof LeftToLive) => placed.filter((each) => each.place === place).length;
  return {
    taken: taken.map(({ key }) => key),
    fresh: new Set(taken.filter(({ isFresh }) => isFresh).map(({ key }) => key)),
    decided: decided.length,
    decisions: decided.flatMap(({ prior }) => prior),
    leftToLive: { arriving: count('arriving'), owed: count('owed') },
  };
}

/**
 * Finds young traces whose spans name a parent that has not come. Live scoring waits for such a parent up to the maximum wait,
 * and the activity of a trace does not show it. Returns the joined keys of the traces.
 */
async function readIncomplete(
  { spans }: Pick<BackfillContext['stores'], 'spans'>,
  readiness: ReadinessSettings,
  { toMs }: BackfillRange,
  nowMs: number,
): Promise<Set<string>> {
  const sinceMs = nowMs - readiness.maxWaitMs;
  if (toMs <= sinceMs) {
    return new Set();
  }
  const incomplete = new Set<string>();
  for (const { spanIds, parentIds, ...key } of await spans.arrivals(sinceMs, nowMs + AHEAD_MS)) {
    const known = new Set(spanIds);
    if (parentIds.some((id) => !known.has(id))) {
      incomplete.add(joinTraceKey(key));
    }
  }
  return incomplete;
}

interface KnownTrace {
  readonly activity: TraceActivity;
  readonly decisions: readonly Decision[];
  readonly isArriving: boolean;
  /** True when a rule on sessions needs the content, and no process has read it. */
  readonly isUnread: boolean;
  readonly nowMs: number;
}

/** Terms of the selection. */
export interface Selecting {
  readonly readiness: SweepSettings;
  readonly sessions: SessionSettings;
  readonly mode: ScoringMode;
  readonly live: Live;
}

function placeTrace(trace: KnownTrace, { readiness, mode, live }: Selecting): PlacedTarget<TraceActivity> {
  const { activity, decisions, nowMs } = trace;
  const names = new Set(mode.rules.map((rule) => rule.name));
  const prior = decisions.filter((row) => names.has(row.rule));
  const candidate: TraceCandidate = {
    activity,
    claim: SOLE_CLAIMS.claim(activity),
    prior,
    reread: false,
    nowMs,
  };
  const isYoung = nowMs - activity.firstArrivalMs < readiness.maxWaitMs;
  if ((isYoung && trace.isArriving) || computeWaitUntil(candidate, readiness) !== null) {
    return { place: 'arriving' };
  }
  if (isOwed(trace, mode, live, readiness.reachMs)) {
    return { place: 'owed' };
  }
  return !trace.isUnread && listOpenRules(candidate, mode).open.length === 0
    ? { place: 'decided', prior }
    : { place: 'taken', key: activity, isFresh: prior.length === 0 };
}

/**
 * Returns true when live scoring has yet to decide the trace with a scorer of the backfill: both would ask the judge the same
 * question. Live scoring never finds a trace whose spans all came before the reach of the sweep, and never decides one that arrived
 * before the store knew the convention of its spans.
 */
function isOwed(
  { activity, decisions, nowMs }: KnownTrace,
  mode: ScoringMode,
  live: Live,
  reachMs: number,
): boolean {
  if (activity.knownLate === true || activity.lastArrivalMs < nowMs - reachMs) {
    return false;
  }
  const ours = new Set(mode.rules.flatMap((rule) => rule.scorers.map((scorer) => scorer.name)));
  const ofTraces = live.rules.filter(({ target }) => target !== 'session');
  return ofTraces.some((rule) => {
    const inForce = live.history.inForce(rule, activity.firstArrivalMs);
    const rows = decisions.filter((row) => row.rule === rule.name);
    return (
      inForce !== null &&
      rule.scorers.some(
        ({ name }) => ours.has(name) && inForce.scorers.has(name) && !isDecided(rows, name, activity),
      )
    );
  });
}

/** Returns true when the rows of a scorer, or the verdict on its whole rule, are final and have seen the latest arrival. */
function isDecided(rows: readonly Decision[], scorer: string, { lastArrivalMs }: TraceActivity): boolean {
  const scorerRows = rows.filter((row) => row.scorer === scorer);
  const verdicts = rows.filter((row) => row.scorer === WHOLE_RULE && row.status !== 'scored');
  const decidingRows = scorerRows.length > 0 ? scorerRows : verdicts;
  return (
    decidingRows.length > 0 &&
    decidingRows.every((row) => row.status !== 'deferred' && row.evidenceUntil >= lastArrivalMs)
  );
}
