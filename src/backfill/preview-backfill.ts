import type { Decision } from '../domain/decision.ts';
import { SOLE_CLAIMS } from '../ownership/claim.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import { readFacts, selectTrace, type Selected } from '../scoring/select/select-traces.ts';
import { readStoreClock } from '../scoring/store-clock.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';
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
  MAX_PAGE,
  readLive,
  selectBackfill,
  type Selecting,
  type SelectedTargets,
} from './select-backfill.ts';
import { selectSessions } from './select-sessions.ts';

/** Backfill that is only looked at. */
export interface PreviewedBackfill {
  readonly spec: BackfillSpec;
  /** '' for all tenants. */
  readonly tenant: string;
  /** Ends the look early: then the counts are too small. */
  readonly signal: AbortSignal;
}

/** Trace that a backfill would read, with the scorers that would run. */
interface PlannedTrace extends TraceKey {
  readonly pairs: number;
}

/**
 * Counts what a backfill would do, with the selection of the real run, and stores nothing. `remaining` is the number of pairs whose
 * scorers would run. Throws `AppError` when the store cannot be read.
 */
export async function previewBackfill(
  { scoring, rules, liveRules, sessions }: Pick<BackfillWork, 'scoring' | 'rules' | 'liveRules' | 'sessions'>,
  { spec, tenant, signal }: PreviewedBackfill,
): Promise<BackfillReport> {
  const begunMs = await scoring.stores.spans.nowMs();
  const redo = spec.rescore ? { sinceMs: begunMs, selects: () => true } : null;
  const mode = backfillMode(renameRules(computeBackfillId(spec, tenant), rules), redo);
  const live = await readLive(scoring, liveRules);
  const selecting: Selecting = { mode, live, readiness: scoring.readiness, sessions };
  const range = readRange(spec, tenant);
  let report = { ...readBackfillReport({}), maxCostUsd: spec.maxCostUsd };
  for await (const page of selectBackfill(scoring, range, selecting, { after: null, limit: MAX_PAGE })) {
    const planned = await planTraces(scoring, selecting, page.taken);
    const counts = addLeft(planned.counts, page, countPairs(mode.rules));
    report = addCounts(report, addEarlier(counts, page.decisions, selecting));
    report = { ...report, matched: report.matched + countTargets(page) };
    report = {
      ...report,
      remaining: report.remaining + planned.traces.reduce((sum, { pairs }) => sum + pairs, 0),
    };
    if (signal.aborted) {
      return report;
    }
  }
  for await (const page of selectSessions(scoring, range, selecting, null)) {
    const counts = addLeft(NO_PAIRS, page, countPairs(mode.sessionRules));
    report = addCounts(report, addEarlier(counts, page.decisions, selecting));
    const remaining = report.remaining + page.taken.length * countPairs(mode.sessionRules);
    report = { ...report, sessions: report.sessions + countTargets(page), remaining };
  }
  return report;
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
  const { stores } = scoring;
  const clock = await readStoreClock(stores.spans, scoring.monotonicMs);
  const [activities, decisions, existing] = await Promise.all([
    stores.spans.activity(keys),
    stores.decisions.ofTraces(keys),
    stores.scores.ofTraces(keys),
  ]);
  const names = new Set(mode.rules.map(({ name }) => name));
  const candidates = [...activities.values()].map((activity) => ({
    activity,
    claim: SOLE_CLAIMS.claim(activity),
    prior: (decisions.get(joinTraceKey(activity)) ?? []).filter((row) => names.has(row.rule)),
    reread: false,
    nowMs: clock.nowMs(),
  }));
  const facts = await readFacts(scoring, candidates, mode);
  const selected = candidates.map((candidate) => {
    const key = joinTraceKey(candidate.activity);
    const lookups = {
      facts: facts.get(key),
      existing: existing.get(key) ?? [],
      existingReadMs: scoring.monotonicMs(),
      knownRuns: [],
      clock,
    };
    return selectTrace(candidate, lookups, mode);
  });
  const declined = selected.flatMap((each) => each.declined.flatMap(({ rows }) => rows));
  const rules = { rules: mode.rules, begunMs: 0, isNewScore: () => false, isSpent: false };
  const already = selected.map((each) => countStanding(each, mode.redo !== null));
  return {
    counts: addSkipped(
      countRows(declined, rules),
      SKIPPED.scoredBefore,
      already.reduce((sum, count) => sum + count, 0),
    ),
    traces: selected.map((each, index) => ({
      ...each.key,
      pairs: each.rules.reduce((sum, { scorers }) => sum + scorers.length, 0) - (already[index] ?? 0),
    })),
  };
}

/** Counts the scorers of a trace whose score of the same fingerprint is stored. Later evidence may still ask for another one. */
function countStanding({ rules, existing, activity }: Selected, isRescore: boolean): number {
  const fingerprints = new Set(
    existing
      .filter(({ evidenceUntil, source }) => source !== 'human' && evidenceUntil >= activity.lastArrivalMs)
      .map(({ fingerprint }) => fingerprint),
  );
  return isRescore
    ? 0
    : rules.reduce(
        (sum, { scorers }) => sum + scorers.filter((each) => fingerprints.has(each.fingerprint)).length,
        0,
      );
}
