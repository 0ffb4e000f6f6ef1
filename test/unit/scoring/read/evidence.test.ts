import { describe, expect, it } from 'vitest';
import type { AgentRun } from '../../../../src/domain/trace/agent-run.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  CountingScorer,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  readTestTrace,
  buildRule,
} from '../../../support/scoring/scoring-world.ts';

/** The same run, which counts the reads of its context; only the hash reads that of a run that cannot be scored. */
function counted(run: AgentRun, count: () => void): AgentRun {
  return Object.defineProperty({ ...run }, 'context', {
    get: () => {
      count();
      return run.context;
    },
  });
}

describe('the evidence of a run', () => {
  it('is read and hashed once for all rules that decide that it cannot be scored', async () => {
    const store = new MemoryStore();
    const rules = ['r1', 'r2', 'r3'].map((name) => buildRule([new CountingScorer('a')], { name }));
    const mode = await buildLiveMode(store, ...rules);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a')]);
    store.clockMs += 60_000;
    let readings = 0;
    let hashings = 0;
    const scoring = {
      ...createTestScoring(store),
      readTrace: (data: Parameters<typeof readTestTrace>[0]) => {
        readings += 1;
        const reading = readTestTrace(data);
        return { ...reading, runs: reading.runs.map((run) => counted(run, () => (hashings += 1))) };
      },
    };
    await scoreTraces(scoring, [key], mode);
    expect(store.decisions().map((row) => row.status)).toEqual(Array(3).fill('not_applicable'));
    expect(new Set(store.decisions().map((row) => row.evidenceHash)).size).toBe(1);
    expect({ readings, hashings }).toEqual({ readings: 1, hashings: 1 });
  });
});
