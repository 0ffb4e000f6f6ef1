import type { StatusCounts } from '../domain/decision.ts';
import { InvalidInputError } from '../domain/errors.ts';
import { prepareRule, type Rule } from '../scoring/select/rule.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import { computeBackfillId, prepareBackfillRules, type BackfillRange } from './backfill-rules.ts';
import { addCounts, countStatuses } from './status-counts.ts';
import {
  selectBackfill,
  type BackfillContext,
  type BackfillPage,
  type LeftToLive,
} from './select-backfill.ts';

/** Pages that are scored at the same time: while one waits for the store, the other one uses the processor. */
const PAGES_AT_ONCE = 2;

export interface BackfillRequest extends BackfillRange {
  /** Rules of this backfill, with sampling rates of their own. */
  readonly rules: readonly Rule[];
  /** Rules of live scoring. Traces that live scoring has yet to decide are left to it. Default: none. */
  readonly liveRules?: readonly Rule[] | undefined;
  readonly onProgress?: ((progress: BackfillSummary) => void) | undefined;
  /** Stops the backfill after the pages under way. The same request continues from there. */
  readonly signal?: AbortSignal | undefined;
}

/** Counts of the traces in the range. A dry run and a real run count the same way. */
export interface BackfillCounts {
  readonly id: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Traces of agents or models that this backfill scores now or has decided in an earlier run. */
  readonly traces: number;
  /** Traces that an earlier run of this backfill has decided. */
  readonly decided: number;
  /** Traces that are left to live scoring. */
  readonly leftToLive: LeftToLive;
  /** True when the backfill was stopped before its end. */
  readonly interrupted: boolean;
}

export interface BackfillSummary extends BackfillCounts {
  /** Scores that were computed. A stored score of the same evidence is not computed again; it only gets a decision. */
  readonly scored: number;
  /** Results that existed before, by status: decisions of an earlier run, and stored scores of the same evidence. */
  readonly already: StatusCounts;
  /** Decisions of this run, by status. */
  readonly decisions: StatusCounts;
  /** Traces without a result because of an error: run the backfill again. */
  readonly broken: number;
  readonly costUsd: number;
  /** True when a decision is failed or deferred, or a trace is broken: a command ends with "finished, some items failed". */
  readonly incomplete: boolean;
}

/** Counts the traces that `runBackfill` would score, and stores nothing. Throws the errors of `runBackfill`. */
export async function countBackfill(
  context: BackfillContext,
  request: Omit<BackfillRequest, 'onProgress'>,
): Promise<BackfillCounts> {
  const { id, pages } = startSelection(context, request);
  let counts = buildZeroCounts(id, request);
  for await (const page of pages) {
    counts = addPage(counts, page);
    if (request.signal?.aborted) {
      return { ...counts, interrupted: true };
    }
  }
  return counts;
}

/**
 * Scores stored traces with the code of live scoring. A trace with a score of the same evidence is skipped, so a backfill can be
 * run again at any time. Throws `InvalidInputError` for an empty range, `AppError` when the store cannot be used.
 */
export async function runBackfill(scoring: Scoring, request: BackfillRequest): Promise<BackfillSummary> {
  const { id, mode, pages } = startSelection(scoring, request);
  let summary: BackfillSummary = {
    ...buildZeroCounts(id, request),
    scored: 0,
    already: {},
    decisions: {},
    broken: 0,
    costUsd: 0,
    incomplete: false,
  };
  const tally = createRowTally();
  const add = async ({ page, outcomes }: ScoredPage): Promise<void> => {
    const counted = addPage(summary, page);
    const already = addCounts(counted.already, page.decisions);
    summary = tally(await outcomes).reduce(addOutcome, { ...counted, already });
    request.onProgress?.(summary);
  };
  const paired = readScoresAgain(scoring);
  const scored: ScoredPage[] = [];
  try {
    for await (const page of pages) {
      if (request.signal?.aborted) {
        break;
      }
      scored.push({ page, outcomes: scoreTraces(paired, page.taken, mode) });
      if (scored.length >= PAGES_AT_ONCE) {
        await addFirst(scored, add);
      }
    }
    while (scored.length > 0) {
      await addFirst(scored, add);
    }
  } finally {
    // After an error, the other pages still write rows.
    await Promise.allSettled(scored.map(({ outcomes }) => outcomes));
  }
  await scoring.budget.giveBack();
  return request.signal?.aborted ? { ...summary, interrupted: true } : summary;
}

/** A page whose traces are being scored. */
interface ScoredPage {
  readonly page: BackfillPage;
  readonly outcomes: Promise<TraceOutcome[]>;
}

async function addFirst(scored: ScoredPage[], add: (page: ScoredPage) => Promise<void>): Promise<void> {
  const first = scored.shift();
  await (first && add(first));
}

/**
 * Reads the scores of each run again before its judge is asked, however lately they were read: the page beside may have judged the same
 * run meanwhile.
 */
function readScoresAgain(scoring: Scoring): Scoring {
  const { laterScores } = scoring;
  const read: typeof laterScores.read = (task) =>
    laterScores.read({ ...task, existingReadMs: Number.NEGATIVE_INFINITY });
  return { ...scoring, laterScores: { read } };
}

/**
 * Creates a tally that leaves out rows of the page before. Two pages may find the same run, when its traces are on both: each of them
 * then has the rows of all these traces.
 */
function createRowTally(): (outcomes: readonly TraceOutcome[]) => TraceOutcome[] {
  let before: ReadonlySet<string> = new Set();
  return (outcomes) => {
    const now = new Set<string>();
    const isNew = (name: string) => {
      now.add(name);
      return !before.has(name);
    };
    const counted = outcomes.map((outcome) => ({
      ...outcome,
      scores: outcome.scores.filter(({ scoreId }) => isNew(scoreId)),
      decisions: outcome.decisions.filter(({ tenant, targetId, rule, scorer }) =>
        isNew(JSON.stringify([tenant, targetId, rule, scorer])),
      ),
    }));
    before = now;
    return counted;
  };
}

/** Starts the selection, the same one for dry runs and real runs. */
function startSelection(context: BackfillContext, request: BackfillRequest) {
  if (!(request.fromMs < request.toMs)) {
    throw new InvalidInputError('the backfill has no time: give a --to after its --from', {
      fromMs: request.fromMs,
      toMs: request.toMs,
    });
  }
  const id = computeBackfillId(request, request.rules);
  const mode = backfillMode(prepareBackfillRules(id, request.rules));
  const liveRules = (request.liveRules ?? []).map(prepareRule);
  return { id, mode, pages: selectBackfill(context, request, mode, liveRules) };
}

function buildZeroCounts(id: string, { fromMs, toMs }: BackfillRange): BackfillCounts {
  const leftToLive = { arriving: 0, owed: 0 };
  return { id, fromMs, toMs, traces: 0, decided: 0, leftToLive, interrupted: false };
}

function addPage<Counts extends BackfillCounts>(
  counts: Counts,
  { taken, decided, leftToLive }: BackfillPage,
): Counts {
  return {
    ...counts,
    traces: counts.traces + taken.length + decided,
    decided: counts.decided + decided,
    leftToLive: {
      arriving: counts.leftToLive.arriving + leftToLive.arriving,
      owed: counts.leftToLive.owed + leftToLive.owed,
    },
  };
}

/** Adds the outcome of a trace. A trace that got new spans after its selection is left to live scoring. */
function addOutcome(summary: BackfillSummary, outcome: TraceOutcome): BackfillSummary {
  const { leftToLive } = summary;
  if (outcome.waitUntilMs !== null) {
    return {
      ...summary,
      traces: summary.traces - 1,
      leftToLive: { ...leftToLive, arriving: leftToLive.arriving + 1 },
    };
  }
  const isBroken = outcome.error !== null;
  const failed = outcome.decisions.some((row) => row.status === 'failed' || row.status === 'deferred');
  return {
    ...summary,
    scored: summary.scored + outcome.scores.length,
    already: addCounts(summary.already, { scored: countReused(outcome) }),
    decisions: addCounts(summary.decisions, countStatuses(outcome.decisions)),
    broken: summary.broken + Number(isBroken),
    costUsd: summary.costUsd + outcome.decisions.reduce((sum, row) => sum + (row.costUsd ?? 0), 0),
    incomplete: summary.incomplete || failed || isBroken,
  };
}

/** Counts the `scored` decisions whose score was stored before. */
function countReused({ decisions, scores }: TraceOutcome): number {
  return decisions.filter(
    (row) =>
      row.status === 'scored' &&
      !scores.some((score) => score.targetId === row.targetId && score.fingerprint === row.fingerprint),
  ).length;
}
