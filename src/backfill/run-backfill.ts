import { InvalidInputError } from '../domain/errors.ts';
import type { DecisionStatus } from '../domain/decision.ts';
import type { Rule } from '../scoring/rule.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { TraceActivity } from '../store/contracts/stores.ts';
import { backfillId, backfillRules, type BackfillRange } from './backfill-rules.ts';

/** Traces that are listed and scored at a time. */
const PAGE = 200;

/** Kept between a backfill and live scoring, beyond the maximum wait, milliseconds. */
const MARGIN_MS = 60_000;

export interface BackfillRequest extends BackfillRange {
  /** What to score by; their rates are this backfill's own. */
  readonly rules: readonly Rule[];
  readonly onProgress?: ((progress: BackfillSummary) => void) | undefined;
  /** Stops after the traces under way; the same request goes on from there. */
  readonly signal?: AbortSignal | undefined;
}

export interface BackfillSummary {
  readonly id: string;
  readonly fromMs: number;
  /** Where it really ends: what is younger belongs to live scoring. */
  readonly toMs: number;
  /** Traces looked at. */
  readonly traces: number;
  /** Scores computed; a score of the same evidence that was there already is a decision only. */
  readonly scored: number;
  /** Decisions written, by status. */
  readonly decisions: Readonly<Partial<Record<DecisionStatus, number>>>;
  /** Traces without an agent or model span, or decided by an earlier run of this backfill. */
  readonly skipped: number;
  /** Traces that still arrive; run again later. */
  readonly waiting: number;
  /** Traces that broke off; run again. */
  readonly broken: number;
  readonly costUsd: number;
  /** Something failed, was put off or broke off: a caller ends with "finished, some items failed". */
  readonly incomplete: boolean;
  /** It was stopped before its end. */
  readonly interrupted: boolean;
}

/**
 * Scores stored traces on the path of live scoring. What has a score of the same evidence is skipped, so it can be run again
 * at any time. Throws `InvalidInputError` for an empty range, `AppError` when the store cannot be used.
 */
export async function runBackfill(scoring: Scoring, request: BackfillRequest): Promise<BackfillSummary> {
  const { spans } = scoring.stores;
  if (!(request.fromMs < request.toMs)) {
    throw new InvalidInputError('the backfill has no time: give a --to after its --from', {
      fromMs: request.fromMs,
      toMs: request.toMs,
    });
  }
  const id = backfillId(request, request.rules);
  const mode = backfillMode(backfillRules(id, request.rules));
  const toMs = Math.min(request.toMs, (await spans.nowMs()) - scoring.limits.maxWaitMs - MARGIN_MS);
  let summary = emptySummary(id, request.fromMs, toMs);
  let last: TraceActivity | undefined;
  for (;;) {
    if (request.signal?.aborted) {
      return { ...summary, interrupted: true };
    }
    const page = await spans.list({
      fromMs: request.fromMs,
      toMs,
      limit: PAGE,
      ...(request.tenant === undefined ? {} : { tenant: request.tenant }),
      ...(last === undefined
        ? {}
        : {
            after: {
              startUnixNano: last.firstStartUnixNano,
              traceId: last.traceId,
              tenant: last.tenant,
            },
          }),
    });
    if (page.length === 0) {
      return summary;
    }
    const outcomes = await scoreTraces(scoring, page, mode);
    summary = outcomes.reduce(add, summary);
    request.onProgress?.(summary);
    last = page.at(-1);
  }
}

function emptySummary(id: string, fromMs: number, toMs: number): BackfillSummary {
  return {
    id,
    fromMs,
    toMs: Math.max(fromMs, toMs),
    traces: 0,
    scored: 0,
    decisions: {},
    skipped: 0,
    waiting: 0,
    broken: 0,
    costUsd: 0,
    incomplete: false,
    interrupted: false,
  };
}

function add(summary: BackfillSummary, outcome: TraceOutcome): BackfillSummary {
  const decisions: Partial<Record<DecisionStatus, number>> = { ...summary.decisions };
  for (const { status } of outcome.decisions) {
    decisions[status] = (decisions[status] ?? 0) + 1;
  }
  const isBroken = outcome.error !== null;
  const isWaiting = outcome.waitUntilMs !== null;
  const isSkipped = !isBroken && !isWaiting && outcome.decisions.length === 0;
  const failed = outcome.decisions.some((row) => row.status === 'failed' || row.status === 'deferred');
  return {
    ...summary,
    traces: summary.traces + 1,
    scored: summary.scored + outcome.scores.length,
    decisions,
    skipped: summary.skipped + Number(isSkipped),
    waiting: summary.waiting + Number(isWaiting),
    broken: summary.broken + Number(isBroken),
    costUsd: summary.costUsd + outcome.decisions.reduce((sum, row) => sum + (row.costUsd ?? 0), 0),
    incomplete: summary.incomplete || failed || isBroken,
  };
}
