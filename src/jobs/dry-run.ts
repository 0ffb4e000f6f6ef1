import { backfillMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { Decision } from '../domain/decision.ts';
import { MAX_KEYS } from '../store/contracts/stores.ts';
import {
  estimateWork,
  PlannedWork,
  type CostEstimate,
  type LookParts,
  type PlannedPair,
} from './estimate.ts';
import { countPairs } from './score-page.ts';
import {
  countTargets,
  lookAtTraces,
  selectSessions,
  selectTraces,
  SESSION_PAGE,
  startSelection,
  type LookedTarget,
  type SelectedPage,
  type Selecting,
} from './selection.ts';
import {
  addCounts,
  addSkipped,
  computeBackfillId,
  countRows,
  NO_COUNTS,
  readBackfillReport,
  readRange,
  renameRules,
  SKIPPED,
  type BackfillCounts,
  type BackfillReport,
  type BackfillSpec,
} from './stored-job.ts';
import type { TargetKey } from './targets.ts';

/** Backfill that is only looked at. */
export interface LookedBackfill {
  readonly spec: BackfillSpec;
  /** '' for all tenants. */
  readonly tenant: string;
  /** Ends the look early: then the counts are too small. */
  readonly signal: AbortSignal;
}

interface DryRunParts extends LookParts {
  /** Rules of the specification, with the scorers of the configuration. */
  readonly rules: readonly PreparedRule[];
  readonly liveRules: readonly PreparedRule[];
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
export async function dryRunBackfill(
  parts: DryRunParts,
  { spec, tenant, signal }: LookedBackfill,
): Promise<DryRun> {
  const { stores } = parts.scoring;
  const redo = spec.rescore ? { sinceMs: await stores.spans.nowMs(), selects: () => true } : null;
  const mode = backfillMode(renameRules(computeBackfillId(spec, tenant), parts.rules), redo);
  const selecting = await startSelection(parts, mode);
  const planned = new PlannedWork();
  let [counts, remaining, isComplete] = [NO_COUNTS, 0, true];
  for await (const page of planPages(parts, selecting, { spec, tenant })) {
    if (signal.aborted) {
      isComplete = false;
      break;
    }
    const plan = await page();
    counts = addCounts(counts, plan.counts);
    remaining += plan.work.reduce((sum, { pairs }) => sum + pairs.length, 0);
    plan.work.forEach(({ key, pairs }) => planned.add(key, pairs));
  }
  const { tracesPerSecond, concurrency: traces, maxCostUsd } = spec;
  const share = spec.judgeShare ?? parts.judgeShare;
  const estimate = await estimateWork(parts, planned, { mode, tenant, share, tracesPerSecond, traces });
  const report = { ...readBackfillReport({}), ...counts, remaining, maxCostUsd };
  return { report, estimate: { ...estimate, isComplete } };
}

/** Target that a backfill would read, with the scorers that would run. */
interface TargetPlan {
  readonly key: TargetKey;
  readonly pairs: readonly PlannedPair[];
}

/** Lists the pages of a backfill. Each is a function that plans its work. */
async function* planPages(
  { scoring }: DryRunParts,
  selecting: Selecting,
  { spec, tenant }: Pick<LookedBackfill, 'spec' | 'tenant'>,
): AsyncGenerator<() => Promise<{ counts: BackfillCounts; work: readonly TargetPlan[] }>> {
  const range = readRange(spec, tenant);
  const { stores } = scoring;
  const { mode } = selecting;
  const isRescore = mode.redo !== null;
  for await (const page of selectTraces(stores, range, selecting, { after: null, limit: MAX_KEYS })) {
    yield async () => {
      const targets = await lookAtTraces(scoring, mode, page.taken);
      const work = targets.map((each) => planTarget(each, isRescore));
      const declined = targets.flatMap((each) => each.declined.flatMap(({ rows }) => rows));
      const standing = work.reduce((sum, each) => sum + each.standing, 0);
      const counts = countEarlier(page, declined, mode.rules);
      return {
        counts: { ...addSkipped(counts, SKIPPED.scoredBefore, standing), matched: countTargets(page) },
        work,
      };
    };
  }
  const pairs = mode.sessionRules.flatMap((rule) => listPairs(rule, rule.scorers));
  for await (const page of selectSessions(stores, range, selecting, { after: null, limit: SESSION_PAGE })) {
    yield async () => ({
      counts: { ...countEarlier(page, [], mode.sessionRules), sessions: countTargets(page) },
      work: page.taken.map((key) => ({ key, pairs })),
    });
  }
}

/** Lists scorers of a rule of the backfill. */
function listPairs({ name, paidBy = name }: PreparedRule, scorers: PreparedRule['scorers']): PlannedPair[] {
  return scorers.map((scorer) => ({ rule: name, title: paidBy, scorer }));
}

/** Counts what no scorer would run for: targets that are left to live scoring, and decisions of this look and of earlier runs. */
function countEarlier(
  { arriving, owed, decisions }: SelectedPage,
  declined: readonly Decision[],
  rules: readonly PreparedRule[],
): BackfillCounts {
  const terms = { rules, isNewScore: () => false, isSpent: false };
  const earlier = countRows(decisions, { ...terms, begunMs: Number.POSITIVE_INFINITY });
  const counts = addCounts(earlier, countRows(declined, { ...terms, begunMs: 0 }));
  const pairs = countPairs(rules);
  return addSkipped(addSkipped(counts, SKIPPED.arriving, arriving * pairs), SKIPPED.leftToLive, owed * pairs);
}

/**
 * Plans the scorers of a trace. Those whose score of the same fingerprint is stored stand. Later evidence may still ask for another one.
 */
function planTarget(
  { key, rules, existing, lastArrivalMs }: LookedTarget,
  isRescore: boolean,
): TargetPlan & { readonly standing: number } {
  const stored = existing.filter(
    ({ evidenceUntil, source }) => !isRescore && source !== 'human' && evidenceUntil >= lastArrivalMs,
  );
  const fingerprints = new Set(stored.map(({ fingerprint }) => fingerprint));
  const all = rules.flatMap(({ rule, scorers }) => listPairs(rule, scorers));
  const pairs = all.filter(({ scorer }) => !fingerprints.has(scorer.fingerprint));
  return { key, pairs, standing: all.length - pairs.length };
}
