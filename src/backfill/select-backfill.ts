import { WHOLE_RULE, type Decision, type StatusCounts } from '../domain/decision.ts';
import { SWEEP_BACK_MS } from '../readiness/sweep.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { buildRuleHistory, type RuleHistory } from '../scoring/select/rule-history.ts';
import type { ReadinessSettings } from '../readiness/readiness.ts';
import type { ScoringStores } from '../scoring/scoring-stores.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { SOLE_CLAIMS } from '../ownership/claim.ts';
import { listOpenRules, computeWaitUntil, type TraceCandidate } from '../scoring/select/select-rules.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import type { BackfillRange } from './backfill-rules.ts';
import { addCounts, countStatuses } from './status-counts.ts';

/** Traces of one page. */
const PAGE = 500;

/** Time after the store's clock up to which arrivals are read, milliseconds: the clocks of a cluster's nodes differ. */
const AHEAD_MS = 3_600_000;

/** Needs of the selection of a backfill. */
export interface BackfillContext {
  readonly stores: Pick<ScoringStores, 'spans' | 'decisions' | 'ruleVersions'>;
  readonly readiness: ReadinessSettings;
}

/** Numbers of traces that are left to live scoring, by reason. */
export interface LeftToLive {
  /** Traces that may still get spans. */
  readonly arriving: number;
  /** Traces that a live rule has yet to decide with a scorer of this backfill. */
  readonly owed: number;
}

/** One page of the traces of a backfill. Traces without a span of an agent or a model are left out. */
export interface BackfillPage {
  /** Traces to score now. */
  readonly taken: readonly TraceKey[];
  /** Traces that an earlier run of this backfill has decided. */
  readonly decided: number;
  /** Decisions of those traces, by status. */
  readonly decisions: StatusCounts;
  readonly leftToLive: LeftToLive;
}

/** Live scoring: its rules, and the times that each of them covers. */
interface Live {
  readonly rules: readonly PreparedRule[];
  readonly history: RuleHistory;
}

/**
 * Selects the traces of a backfill, page by page, for dry runs and real runs.
 * Throws `AppError` when the store cannot be read.
 */
export async function* selectBackfill(
  { stores, readiness }: BackfillContext,
  range: BackfillRange,
  mode: ScoringMode,
  liveRules: readonly PreparedRule[],
): AsyncGenerator<BackfillPage> {
  const { spans, decisions: decisionStore, ruleVersions } = stores;
  const live = { rules: liveRules, history: buildRuleHistory(await ruleVersions.list()) };
  const begunMs = await spans.nowMs();
  const incomplete = await readIncomplete({ stores, readiness }, range, begunMs);
  let last: TraceActivity | undefined;
  for (;;) {
    const listed = await spans.list({
      fromMs: range.fromMs,
      toMs: range.toMs,
      limit: PAGE,
      ...(range.tenant === undefined ? {} : { tenant: range.tenant }),
      ...(last === undefined ? {} : { after: { ...last, startUnixNano: last.firstStartUnixNano } }),
    });
    last = listed.at(-1);
    if (last === undefined) {
      return;
    }
    const traces = listed.filter((trace) => trace.agentSeen);
    const rows = await decisionStore.ofTraces(traces);
    const nowMs = await spans.nowMs();
    yield traces.reduce((page, activity) => {
      const decisions = rows.get(joinTraceKey(activity)) ?? [];
      const missesParent = activity.rootSeen && incomplete.has(joinTraceKey(activity));
      const isArriving = activity.firstArrivalMs > begunMs || missesParent;
      return addTrace(page, { activity, decisions, isArriving, nowMs }, { readiness, mode, live });
    }, EMPTY_PAGE);
  }
}

const EMPTY_PAGE: BackfillPage = {
  taken: [],
  decided: 0,
  decisions: {},
  leftToLive: { arriving: 0, owed: 0 },
};

/**
 * Finds young traces whose spans name a parent that has not come. Live scoring waits for such a parent up to the maximum wait,
 * and the activity of a trace does not show it. Returns the joined keys of the traces.
 */
async function readIncomplete(
  { stores, readiness }: BackfillContext,
  { toMs }: BackfillRange,
  nowMs: number,
): Promise<Set<string>> {
  const sinceMs = nowMs - readiness.maxWaitMs;
  if (toMs <= sinceMs) {
    return new Set();
  }
  const incomplete = new Set<string>();
  for (const { spanIds, parentIds, ...key } of await stores.spans.arrivals(sinceMs, nowMs + AHEAD_MS)) {
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
  readonly nowMs: number;
}

interface Selecting {
  readonly readiness: ReadinessSettings;
  readonly mode: ScoringMode;
  readonly live: Live;
}

function addTrace(page: BackfillPage, trace: KnownTrace, { readiness, mode, live }: Selecting): BackfillPage {
  const { activity, decisions, nowMs } = trace;
  const { leftToLive } = page;
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
    return { ...page, leftToLive: { ...leftToLive, arriving: leftToLive.arriving + 1 } };
  }
  if (isOwed(trace, mode, live)) {
    return { ...page, leftToLive: { ...leftToLive, owed: leftToLive.owed + 1 } };
  }
  if (listOpenRules(candidate, mode).open.length === 0) {
    return {
      ...page,
      decided: page.decided + 1,
      decisions: addCounts(page.decisions, countStatuses(prior)),
    };
  }
  const { tenant, traceId } = activity;
  return { ...page, taken: [...page.taken, { tenant, traceId }] };
}

/**
 * Returns true when live scoring has yet to decide the trace with a scorer of the backfill: both would ask the judge the same
 * question. Live scoring never decides a trace that is older than the range of the sweep, or that arrived before the store knew
 * the convention of its spans.
 */
function isOwed({ activity, decisions, nowMs }: KnownTrace, mode: ScoringMode, live: Live): boolean {
  if (activity.knownLate === true || activity.firstArrivalMs < nowMs - SWEEP_BACK_MS) {
    return false;
  }
  const ours = new Set(mode.rules.flatMap((rule) => rule.scorers.map((scorer) => scorer.name)));
  return live.rules.some((rule) => {
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
