import type { JudgeHealth } from '../scoring/attempt/judge-health.ts';
import type { JudgeStock } from '../scoring/live/queue.ts';
import { createSingleFlight } from '../scoring/read/lookups.ts';
import type { Scoring } from '../scoring/scoring.ts';

const UNWATCHED: JudgeHealth = {
  observe: () => undefined,
  states: () => [],
  stop: () => undefined,
};

/** Derives the scoring of a look from that of the process: its attempts count in no figures of judges, and join no other runs. */
export function createLookScoring(scoring: Scoring): Scoring {
  return {
    ...scoring,
    judgeHealth: UNWATCHED,
    flights: createSingleFlight(),
    unpriced: { count: 0 },
  };
}

/** Derives the scoring of rendered questions: they take no place of a judge and use no earlier answers. */
export function createRenderScoring(scoring: Scoring): Scoring {
  return {
    ...createLookScoring(scoring),
    judgeScope: { ...scoring.judgeScope, cache: undefined },
    judgeStock: UNLIMITED,
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
