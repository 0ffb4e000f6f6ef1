import { DAY_MS } from '../../../src/domain/durations.ts';
import { findFailures } from '../../../src/issues/find-failures.ts';
import { NO_WAITS } from '../../../src/scoring/record/group-commit.ts';
import * as room from '../../../src/scoring/scoring.ts';
import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';

export type TestPorts = Pick<room.ScoringPorts, 'stores' | 'readTrace' | 'log'> & Partial<room.ScoringPorts>;

export type TestLimits = Partial<room.ScoringLimits & room.ScoringLimits['readiness']>;

/** Creates a scoring for tests: what a test does not name is as in the configuration's defaults, and rows are written at once. */
export function createScoring(ports: TestPorts, options: TestLimits = {}): room.Scoring {
  const { decisionWaitMs = 5_000, maxWaitMs = 15 * 60_000, reachMs = 4 * DAY_MS, ...limits } = options;
  return room.createScoring(
    {
      findFailures,
      joiner: null,
      metrics: { add: () => undefined, record: () => undefined },
      judgeScope: {},
      redaction: {},
      prices: {},
      facets: [],
      purged: NOTHING_PURGED,
      signal: undefined,
      random: Math.random,
      monotonicMs: () => performance.now(),
      ...ports,
    },
    {
      readiness: { decisionWaitMs, maxWaitMs, reachMs },
      scorerTimeoutMs: 120_000,
      judgeConcurrency: 16,
      judgeAttempts: 3,
      newestShare: 0.5,
      maxTracesInMemory: 2_000,
      budgets: undefined,
      catchUp: { maxAgeMs: 3 * DAY_MS, order: 'newest-first' },
      commitPace: NO_WAITS,
      judgedPace: NO_WAITS,
      lookupWaitMs: 0,
      ...limits,
    },
  );
}
