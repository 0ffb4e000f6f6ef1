import type { Decision } from '../domain/decision.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import { estimateCost, type CostEstimate } from '../estimate/estimate-cost.ts';
import { sharePace, type Pace } from '../estimate/estimate-time.ts';
import { readHistory } from '../estimate/read-history.ts';
import { PlannedWork, type PlannedCell } from '../estimate/planned-work.ts';
import { renderSessions, renderTraces } from '../estimate/render-work.ts';
import { lookAtTraces } from '../estimate/select-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule, PreparedScorer } from '../scoring/select/rule.ts';
import type { Selected } from '../scoring/select/select-traces.ts';
import type { JudgeUseStore } from '../store/contracts/judge-use.ts';
import { joinSessionKey, type SessionKey } from '../store/contracts/sessions.ts';
import { MAX_KEYS, joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';
import type { BackfillWork } from './backfill-run.ts';
import {
  addCounts,
  addSkipped,
  countRows,
  NO_PAIRS,
  readBackfillReport,
  SKIPPED,
  type BackfillReport,
  type PairCounts,
} from './backfill-report.ts';
import { computeBackfillId, readRange, renameRules, type BackfillSpec } from './backfill-spec.ts';
import { countPairs } from './score-page.ts';
import {
  countTargets,
  readLive,
  selectBackfill,
  type Selecting,
  type SelectedTargets,
} from './select-backfill.ts';
import { selectSessions, SESSION_PAGE } from './select-sessions.ts';

/** Backfill that is only looked at. */
export interface LookedBackfill {
  readonly spec: BackfillSpec;
  /** '' for all tenants. */
  readonly tenant: string;
  /** Ends the look early: then the counts are too small. */
  readonly signal: AbortSignal;
}

/** Needs of a dry run, beside those of the backfill. */
export interface DryRunWork extends Pick<BackfillWork, 'scoring' | 'rules' | 'liveRules' | 'sessions'> {
  readonly readSizes: JudgeUseStore['sizes'];
  readonly prices: PriceTable;
  /** Limits of the calls to a provider. */
  readonly findProvider: Pace['findProvider'];
  /** Part of the places of judges for a backfill that names none. */
  readonly judgeShare: number;
}

/** Counts of a dry run, and what the rest would cost. */
export interface DryRun {
  readonly report: BackfillReport;
  readonly estimate: BackfillEstimate;
}

export interface BackfillEstimate extends CostEstimate {
  /** False: the look ended early, so that all numbers are too small. */
  readonly isComplete: boolean;
}

/**
 * Counts what a backfill would do, with the selection of the real run, and estimates what it would cost. Stores nothing and asks no judge.
 * `remaining` is the number of pairs whose scorers would run. Throws `AppError` when the store cannot be read.
 */
export async function dryRunBackfill(work: DryRunWork, looked: LookedBackfill): Promise<DryRun> {
  const { scoring, rules, liveRules, sessions } = work;
  const { spec, tenant } = looked;
  const begunMs = await scoring.stores.spans.nowMs();
  const redo = spec.rescore ? { sinceMs: begunMs, selects: () => true } : null;
  const mode = backfillMode(renameRules(computeBackfillId(spec, tenant), rules), redo);
  const live = await readLive(scoring, liveRules);
  const selecting: Selecting = { mode, live, readiness: scoring.readiness, sessions };
  const plan = await planWork(scoring, selecting, looked);
  return { report: plan.report, estimate: await estimateWork(work, plan, { selecting, looked }) };
}

/** Work of a backfill. */
interface PlannedBackfill {
  readonly report: BackfillReport;
  readonly traces: PlannedWork<TraceKey>;
  readonly sessions: PlannedWork<SessionKey>;
  readonly isComplete: boolean;
}

async function planWork(
  scoring: Scoring,
  selecting: Selecting,
  { spec, tenant, signal }: LookedBackfill,
): Promise<PlannedBackfill> {
  const { mode } = selecting;
  const range = readRange(spec, tenant);
  const [traces, sessions] = [new PlannedWork<TraceKey>(), new PlannedWork<SessionKey>()];
  let report = { ...readBackfillReport({}), maxCostUsd: spec.maxCostUsd };
  for await (const page of selectBackfill(scoring, range, selecting, { after: null, limit: MAX_KEYS })) {
    if (signal.aborted) {
      return { report, traces, sessions, isComplete: false };
    }
    const planned = await planTraces(scoring, selecting, page.taken);
    const counts = addLeft(planned.counts, page, countPairs(mode.rules));
    report = addCounts(report, addEarlier(counts, page.decisions, selecting));
    planned.traces.forEach(({ key, cells }) => traces.add(key, joinTraceKey(key), cells));
    const remaining = planned.traces.reduce((sum, { cells }) => sum + cells.length, report.remaining);
    report = { ...report, matched: report.matched + countTargets(page), remaining };
  }
  const ofSessions = mode.sessionRules.flatMap((rule) => listCells(rule, rule.scorers));
  for await (const page of selectSessions(scoring, range, selecting, {
    after: null,
    limit: SESSION_PAGE,
  })) {
    if (signal.aborted) {
      return { report, traces, sessions, isComplete: false };
    }
    const counts = addLeft(NO_PAIRS, page, ofSessions.length);
    report = addCounts(report, addEarlier(counts, page.decisions, selecting));
    page.taken.forEach((key) => sessions.add(key, joinSessionKey(key), ofSessions));
    const remaining = report.remaining + page.taken.length * ofSessions.length;
    report = { ...report, sessions: report.sessions + countTargets(page), remaining };
  }
  return { report, traces, sessions, isComplete: true };
}

async function estimateWork(
  work: DryRunWork,
  { traces, sessions, isComplete }: PlannedBackfill,
  { selecting, looked }: { readonly selecting: Selecting; readonly looked: LookedBackfill },
): Promise<BackfillEstimate> {
  const { scoring, readSizes, prices, findProvider } = work;
  const { mode } = selecting;
  const { tracesPerSecond, concurrency, judgeShare } = looked.spec;
  const [ofTraces, ofSessions] = [traces.list(), sessions.list()];
  const runs = new Map([
    ...(await renderTraces(scoring, ofTraces, mode)),
    ...(await renderSessions(scoring, ofSessions, mode, selecting.sessions)),
  ]);
  const cells = [...ofTraces, ...ofSessions];
  const { sizes, stored } = await readHistory(scoring, cells, mode.rules, {
    readSizes,
    tenant: looked.tenant,
  });
  const share = judgeShare ?? work.judgeShare;
  const places = Math.max(1, Math.floor(scoring.judgeStock.concurrency * share));
  const estimate = estimateCost({
    cells,
    runs,
    sizes,
    stored,
    prices,
    targets: traces.targets + sessions.targets,
    pace: {
      findProvider: (name) => sharePace(findProvider(name), share),
      places,
      tracesPerSecond,
      traces: concurrency,
    },
  });
  return { ...estimate, isComplete };
}

/** Trace that a backfill would read, with the scorers that would run. */
interface PlannedTrace {
  readonly key: TraceKey;
  readonly cells: readonly PlannedCell[];
}

/** Lists scorers of a rule of the backfill. */
function listCells({ name, paidBy = name }: PreparedRule, scorers: readonly PreparedScorer[]): PlannedCell[] {
  return scorers.map((scorer) => ({ rule: name, title: paidBy, scorer }));
}

function addLeft(counts: PairCounts, { leftToLive }: SelectedTargets<unknown>, pairs: number): PairCounts {
  const arriving = addSkipped(counts, SKIPPED.arriving, leftToLive.arriving * pairs);
  return addSkipped(arriving, SKIPPED.leftToLive, leftToLive.owed * pairs);
}

/** Adds the decisions of earlier runs. */
function addEarlier(counts: PairCounts, rows: readonly Decision[], { mode }: Selecting): PairCounts {
  const earlier = countRows(rows, {
    rules: [...mode.rules, ...mode.sessionRules],
    begunMs: Number.POSITIVE_INFINITY,
    isNewScore: () => false,
    isSpent: false,
  });
  return addCounts({ ...readBackfillReport({}), ...counts }, earlier);
}

/** Selects the rules of traces as a real run does before it reads their content. */
async function planTraces(
  scoring: Scoring,
  { mode }: Selecting,
  keys: readonly TraceKey[],
): Promise<{ readonly counts: PairCounts; readonly traces: readonly PlannedTrace[] }> {
  const selected = await lookAtTraces(scoring, mode, keys);
  const declined = selected.flatMap((each) => each.declined.flatMap(({ rows }) => rows));
  const rules = { rules: mode.rules, begunMs: 0, isNewScore: () => false, isSpent: false };
  const planned = selected.map((each) => planTrace(each, mode.redo !== null));
  return {
    counts: addSkipped(
      countRows(declined, rules),
      SKIPPED.scoredBefore,
      planned.reduce((sum, { standing }) => sum + standing, 0),
    ),
    traces: planned,
  };
}

/**
 * Plans the scorers of a trace. Those whose score of the same fingerprint is stored stand. Later evidence may still ask for another one.
 */
function planTrace(
  { key, rules, existing, activity }: Selected,
  isRescore: boolean,
): PlannedTrace & { readonly standing: number } {
  const fingerprints = new Set(
    isRescore
      ? []
      : existing
          .filter(
            ({ evidenceUntil, source }) => source !== 'human' && evidenceUntil >= activity.lastArrivalMs,
          )
          .map(({ fingerprint }) => fingerprint),
  );
  const all = rules.flatMap(({ rule, scorers }) => listCells(rule, scorers));
  const cells = all.filter(({ scorer }) => !fingerprints.has(scorer.fingerprint));
  return { key, cells, standing: all.length - cells.length };
}
