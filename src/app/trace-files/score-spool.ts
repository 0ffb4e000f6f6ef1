import type { Scoring } from '../../scoring/scoring.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import type { TraceOutcome } from '../../scoring/trace-task.ts';
import { scoreTracesNow } from '../scoring/score-now.ts';
import { spooledKey } from './spool-stores.ts';
import type { TraceSpool } from './trace-spool.ts';

/** Traces that are scored together: one look-up, and few enough for their outcomes to stay in memory. */
const BATCH = 500;

/**
 * Scores the traces of a spool in the order of their start. A run that came as several traces is scored once, with the first of them,
 * however far apart they are. Yields the outcomes of each batch.
 */
export async function* scoreSpool(
  spool: TraceSpool,
  scoring: Scoring,
  rules: readonly PreparedRule[],
): AsyncGenerator<readonly TraceOutcome[]> {
  for (let traceIds = spool.take(BATCH); traceIds.length > 0; traceIds = spool.take(BATCH)) {
    const outcomes = await scoreTracesNow(scoring, traceIds.map(spooledKey), rules, { write: false });
    spool.mark(outcomes.flatMap(({ decisions }) => decisions.map(({ traceId }) => traceId)));
    yield outcomes;
  }
}
