import type { JudgeHealth } from '../scoring/attempt/judge-health.ts';
import type { JudgeStock } from '../scoring/attempt/judge-stock.ts';
import { createSingleFlight } from '../scoring/attempt/single-flight.ts';
import type { Scoring } from '../scoring/scoring.ts';

/** Looks at judges without a trace in the figures of the process. */
const UNWATCHED: JudgeHealth = {
  observe: () => undefined,
  states: () => [],
  stop: () => undefined,
};

/**
 * Derives the scoring of a look at what scorers would do. It is the scoring of the process, except that its attempts count nowhere, use no
 * earlier answers of judges, and take no place from other runs.
 * @param stock places of judged runs; default: as many as there are runs
 */
export function createLookScoring(scoring: Scoring, stock: JudgeStock = UNLIMITED): Scoring {
  return {
    ...scoring,
    judgeScope: { ...scoring.judgeScope, cache: undefined, onReuse: undefined },
    judgeHealth: UNWATCHED,
    judgeStock: stock,
    flights: createSingleFlight(),
    unpriced: { count: 0 },
  };
}

const UNLIMITED: JudgeStock = {
  concurrency: Number.MAX_SAFE_INTEGER,
  low: Number.MAX_SAFE_INTEGER,
  high: Number.MAX_SAFE_INTEGER,
  pending: () => 0,
  run: (_end, call) => call(),
  waitMs: () => 0,
  onLow: () => undefined,
};
