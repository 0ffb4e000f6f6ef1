import { describe, expect, it } from 'vitest';
import { JudgeError } from '../../../../src/judge/judge-error.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { previewMode } from '../../../../src/scoring/scoring-mode.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  judged,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../../support/scoring/scoring-world.ts';

const malformed = () => new JudgeError('judge_malformed', "the judge's answer cannot be used: no JSON");
const limited = () => new JudgeError('judge_rate_limited', 'HTTP 429');

/** Throws each error once, in this order, then scores. */
async function scoredWith(errors: readonly JudgeError[], options: { judgeAttempts?: number } = {}) {
  const store = new MemoryStore();
  const left = [...errors];
  const scorer = judged('j', () => {
    const error = left.shift();
    if (error !== undefined) {
      throw error;
    }
    return { score: 1 };
  });
  const mode = await buildLiveMode(store, buildRule([scorer]));
  const traceId = newTraceId();
  store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
  store.clockMs += 60_000;
  /** Each pass runs in a new process: only the store keeps state. */
  const pass = async () => {
    await scoreTraces(createTestScoring(store, options), [{ tenant: '', traceId }], mode);
    const [row] = store.decisions();
    store.clockMs = Math.max(store.clockMs, row?.nextAttemptAt ?? 0);
    return row;
  };
  return { store, pass, mode, key: { tenant: '', traceId } };
}

describe('a reply that cannot be used', () => {
  it('is tried three times, over restarts and with growing waits, and then fails for good', async () => {
    const { store, pass } = await scoredWith([malformed(), malformed(), malformed()]);
    const startMs = store.clockMs;
    expect(await pass()).toMatchObject({
      status: 'deferred',
      reason: "judge_malformed: try 1 of 3: the judge's answer cannot be used: no JSON",
      nextAttemptAt: startMs + 10_000,
    });
    expect(await pass()).toMatchObject({ status: 'deferred', nextAttemptAt: startMs + 30_000 });
    const last = await pass();
    expect(last).toMatchObject({ status: 'failed', attempts: 3, nextAttemptAt: null });
    expect(last?.reason).toMatch(/^judge_malformed: try 3 of 3: /);
  });

  it('becomes a score when a later one can be used', async () => {
    const { store, pass } = await scoredWith([malformed(), malformed()]);
    await pass();
    await pass();
    expect(await pass()).toMatchObject({ status: 'scored', reason: '' });
    expect(store.scores()).toHaveLength(1);
  });

  it('does not count an earlier outage as an attempt', async () => {
    const { pass } = await scoredWith([limited(), limited(), limited(), malformed()]);
    await pass();
    await pass();
    await pass();
    expect((await pass())?.reason).toMatch(/^judge_malformed: try 1 of 3: /);
  });

  it('fails at once when judges.attempts is 1, and when the mode stores nothing', async () => {
    const once = await scoredWith([malformed()], { judgeAttempts: 1 });
    expect(await once.pass()).toMatchObject({
      status: 'failed',
      reason: "judge_malformed: the judge's answer cannot be used: no JSON",
    });
    const { store, mode, key } = await scoredWith([malformed()]);
    const [outcome] = await scoreTraces(createTestScoring(store), [key], previewMode(mode.rules));
    expect(outcome?.decisions).toMatchObject([{ status: 'failed' }]);
  });
});

describe('a judge that does not answer in time', () => {
  const late = () => new JudgeError('judge_timeout', 'the judge did not answer within 90000 ms');

  it('is asked three times and then no more', async () => {
    const { pass } = await scoredWith([late(), late(), late()]);
    expect(await pass()).toMatchObject({
      status: 'deferred',
      reason: 'judge_timeout: try 1 of 3: the judge did not answer within 90000 ms',
    });
    await pass();
    expect(await pass()).toMatchObject({ status: 'failed', attempts: 3, nextAttemptAt: null });
  });

  it('shares its tries with replies that cannot be used', async () => {
    const { pass } = await scoredWith([malformed(), late(), malformed()]);
    await pass();
    await pass();
    expect(await pass()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^judge_malformed: try 3 of 3/),
    });
  });

  it('is not asked again when judges.attempts is 1', async () => {
    const { pass } = await scoredWith([late()], { judgeAttempts: 1 });
    expect(await pass()).toMatchObject({ status: 'failed', nextAttemptAt: null });
  });
});
