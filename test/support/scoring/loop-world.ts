import type { CatchUpTerms } from '../../../src/scoring/scoring.ts';
import { ScoringLoop, createScorerOwnership } from '../../../src/scoring/live/scoring-loop.ts';
import type { TestLimits, TestPorts } from './bare-scoring.ts';
import { SessionLoop } from '../../../src/scoring/sessions/session-loop.ts';
import type { SessionSettings } from '../../../src/scoring/sessions/score-session.ts';
import type { Rule } from '../../../src/scoring/select/rule.ts';
import { FakeTimers } from '../fakes/fake-timers.ts';
import { MemoryStore } from '../fakes/memory-store.ts';
import { createTestScoring } from './scoring-world.ts';

/** A store in memory and the scoring loops on it, with one time for all. */
export interface LoopWorld {
  store: MemoryStore;
  timers: FakeTimers;
  /** Starts a loop; with `member` it shares the traces with the other members. */
  readonly start: (
    rules: readonly Rule[],
    options?: LoopOptions & { member?: string },
  ) => Promise<ScoringLoop>;
  /** Starts a loop that scores sessions. */
  readonly startSessions: (
    rules: readonly Rule[],
    settings: SessionSettings,
    options?: LoopOptions,
  ) => SessionLoop;
}

interface LoopOptions {
  scoring?: TestLimits;
  ports?: Partial<TestPorts>;
  catchUp?: CatchUpTerms;
}

export function createLoopWorld(): LoopWorld {
  const store = new MemoryStore();
  const timers = new FakeTimers(store);
  return {
    store,
    timers,
    async start(rules, { member, scoring, ports, catchUp } = {}) {
      const members = member === undefined ? undefined : store.members;
      const loop = new ScoringLoop(
        createTestScoring(store, { ...scoring, ...(catchUp && { catchUp }) }, ports),
        {
          rules,
          timers,
          ownership: createScorerOwnership(members, rules, {
            member: member ?? '',
            monotonicMs: () => store.clockMs,
          }),
        },
      );
      await loop.start();
      await timers.settle();
      return loop;
    },
    startSessions(rules, settings, { scoring, ports, catchUp } = {}) {
      const ownership = createScorerOwnership(undefined, rules, {
        member: '',
        monotonicMs: () => store.clockMs,
      });
      const context = createTestScoring(store, { ...scoring, ...(catchUp && { catchUp }) }, ports);
      return new SessionLoop(context, { rules, timers, ownership, settings });
    },
  };
}

/** Lists the decisions of a trace as `<scorer> <status>`. */
export function listStatuses(store: MemoryStore, traceId: string): string[] {
  return store
    .decisions()
    .filter((row) => row.traceId === traceId)
    .map((row) => `${row.scorer} ${row.status}`)
    .sort();
}
