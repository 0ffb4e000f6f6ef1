import { describe, expect, it, afterEach, beforeEach, vi } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { JudgeError, type JudgeErrorOptions } from '../../../src/judge/judge-error.ts';
import { toFailure } from '../../../src/scoring/attempt/attempt-failure.ts';
import { readResult } from '../../../src/scoring/attempt/attempt-scorer.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { previewMode } from '../../../src/scoring/scoring-mode.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  judged,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
  CountingScorer,
} from '../../support/scoring/scoring-world.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { askForText } from '../../../src/judge/judge.ts';
import { createReplyCache } from '../../../src/judge/judge-scope.ts';
import { fence } from '../../../src/scorers/shared/judged.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { modelObject } from '../../support/builders/model-object.ts';
import { createJudgeHealth, type JudgeHealth } from '../../../src/scoring/attempt/judge-health.ts';
import { createLog, type Log } from '../../../src/telemetry/log.ts';

/** Wraps an error of a judge as a scorer throws it. */
function wrapped(code: 'budget_exhausted' | 'judge_unauthorised', options: JudgeErrorOptions): AppError {
  const cause = new JudgeError(code, 'why', options);
  return new AppError('Scorer "x" failed in analyze: why', { code, stage: 'judge', retryable: true, cause });
}

describe('the failure of a scorer', () => {
  it('has the kind of the judge error inside', () => {
    const failure = toFailure(wrapped('judge_unauthorised', { kind: 'HTTP 401' }));
    expect(failure).toMatchObject({ status: 'deferred', kind: 'HTTP 401' });
  });

  it('waits until exactly midnight when the budget error inside says so', () => {
    const failure = toFailure(wrapped('budget_exhausted', { details: { notBeforeMs: 86_400_000 } }));
    expect(failure).toMatchObject({ status: 'deferred', notBeforeMs: 86_400_000, kind: 'budget' });
  });
});

const bound = { name: 'tone', scorer: { range: [0, 1], labels: [] } } as never;

describe('the examples of a judge', () => {
  it('are runs of the tenant of the judged run, redacted like it', async () => {
    const store = new MemoryStore();
    const [example, ...ids] = [newTraceId(), newTraceId(), newTraceId()];
    const says = 'write to ann@example.com';
    store.ingest([agentSpan(example, 'a', { says })], { tenant: 'one' });
    store.ingest([agentSpan(ids[0] ?? '', 'a', { says })], { tenant: 'one' });
    store.ingest([agentSpan(ids[1] ?? '', 'a', { says })], { tenant: 'two' });
    const scorer = judged('own');
    const rule = buildRule([]);
    const bounds = [{ name: 'own', scorer, exampleTraces: [example] }];
    const mode = await buildLiveMode(store, { ...rule, scorers: bounds });
    store.clockMs += 60_000;
    const keys = ['one', 'two'].map((tenant, index) => ({ tenant, traceId: ids[index] ?? '' }));
    await scoreTraces(createTestScoring(store), keys, mode);
    const [ofOne, ofTwo] = keys.map(({ traceId }) =>
      scorer.inputs.find(({ targetTraceId }) => targetTraceId === traceId),
    );
    expect(ofOne?.['exampleRuns']).toMatchObject({ [example]: { output: ofOne?.output } });
    expect(JSON.stringify(ofOne?.output)).not.toContain('ann@example.com');
    expect(ofTwo?.['exampleRuns']).toEqual({});
  });
});

describe('the result of a scorer', () => {
  it.each([
    [{ score: -1.56 }, 'out_of_range: -1.56 is outside of [0, 1], the range of tone'],
    [{ score: 1.01 }, 'out_of_range: 1.01 is outside of [0, 1], the range of tone'],
    [
      { score: 1, scores: [{ name: 'part', score: 6, range: [1, 5] }] },
      'out_of_range: 6 is outside of [1, 5], the range of tone.part',
    ],
    [{ score: Number.NaN }, 'scorer_failed: scorer tone: the score is NaN, not a finite number'],
    [{ score: Infinity }, 'scorer_failed: scorer tone: the score is Infinity, not a finite number'],
  ])('%j fails: %s', (result, reason) => {
    expect(readResult(bound, result as never)).toEqual({ status: 'failed', reason });
  });

  it.each([0, 1, 0.1 + 0.2, 1.0000000000000002])('with the score %d in its range is a score', (score) => {
    expect(readResult(bound, { score })).toMatchObject({ status: 'scored', values: [{ score }] });
  });

  it('with a score beyond the range of the past of its agent is a score', () => {
    const measured = { name: 'behaviour', scorer: { labels: [] }, readsPast: true } as never;
    const scores = [{ name: 'behaviour-repeats', score: 6, range: [0, 2] as const }];
    expect(readResult(measured, { scores })).toMatchObject({ status: 'scored', values: [{ score: 6 }] });
  });
});

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

const PRICES = { 'scripted/judge-1': { input: 1, output: 1 } };

/** Scores a trace of each tenant, with a scorer that asks its judge the same question about all. */
async function scoreAlike(reuse: boolean, tenants: readonly string[] = ['', '']) {
  const model = modelObject(() => 'fine');
  const ask = async () => {
    await askForText(model, { instructions: 'Judge.', prompt: 'Does it rain?' });
    return { score: 1 };
  };
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, buildRule([new CountingScorer('asking', ask, 'scripted/judge-1')]));
  const judgeScope = {
    judges: createJudgeRegistry({ prices: PRICES }),
    cache: reuse ? createReplyCache({ maxEntries: 10, maxChars: 1_000 }) : undefined,
  };
  const scoring = createTestScoring(store, {}, { judgeScope });
  const outcomes = [];
  for (const tenant of tenants) {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })], { tenant });
    store.clockMs += 60_000;
    outcomes.push(...(await scoreTraces(scoring, [{ tenant, traceId }], mode)));
  }
  const last = outcomes.at(-1);
  return { model, reuses: scoring.reuses, decision: last?.decisions[0], score: last?.scores[0] };
}

/** Codes of the data that two scorers ask about in two traces of the same content, trace by trace. */
async function codesOfTwoTraces() {
  const codes: (string | undefined)[] = [];
  const model = modelObject(() => 'fine');
  const ask = async () => {
    codes.push(readFencedPrompt(`${fence({ answer: 'It rains.' })}\nJudge.`)?.code);
    await askForText(model, { instructions: 'Judge.', prompt: fence({ answer: 'It rains.' }) });
    return { score: 1 };
  };
  const store = new MemoryStore();
  const scorers = ['one', 'two'].map((name) => new CountingScorer(name, ask, 'scripted/judge-1'));
  const mode = await buildLiveMode(store, buildRule(scorers));
  const cache = createReplyCache({ maxEntries: 10, maxChars: 1_000 });
  const judgeScope = { judges: createJudgeRegistry({ prices: PRICES }), cache };
  const scoring = createTestScoring(store, {}, { judgeScope });
  for (const traceId of [newTraceId(), newTraceId()]) {
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += 60_000;
    await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
  }
  return { codes, calls: model.calls.length };
}

describe('the code around the data', () => {
  it('is one for all scorers of a target and another for another target, and does not hinder reuse', async () => {
    const { codes, calls } = await codesOfTwoTraces();
    const [one, two, three, four] = codes;
    expect([one, three]).toEqual([two, four]);
    expect(one).not.toBe(three);
    expect(calls).toBe(1);
  });
});

describe('the same question to the same judge', () => {
  it('reuses the earlier answer: the decision says so, the score names the judge and costs nothing', async () => {
    const { model, decision, score } = await scoreAlike(true);
    expect(model.calls).toHaveLength(1);
    expect(decision).toMatchObject({ status: 'scored', costUsd: 0 });
    expect(decision?.reason).toMatch(/^judge_reused: 1 of 1 answers are the judge's earlier ones/);
    expect(score).toMatchObject({ judgeModel: 'scripted/judge-1', judgeCalls: 0, costUsd: 0 });
  });

  it('is counted for the tenant of the trace that reused the answer', async () => {
    const { reuses } = await scoreAlike(true, ['a', 'a', 'b', 'b', 'b']);
    const counts = ['a', 'b', 'c', undefined].map((tenant) => reuses.count('scripted/judge-1', tenant));
    expect(counts).toEqual([1, 3, 0, 4]);
    expect(reuses.count('scripted/other')).toBe(0);
  });

  it('is asked each time when reuse is turned off', async () => {
    const { model, decision } = await scoreAlike(false);
    expect(model.calls).toHaveLength(2);
    expect(decision).toMatchObject({ status: 'scored', reason: '' });
  });
});

describe('health', () => {
  let lines: string[];
  let health: JudgeHealth;

  interface Line {
    readonly msg: string;
    readonly kind?: string;
    readonly failures?: number;
    readonly deferred?: number;
    readonly failed?: number;
  }

  /** A log whose lines are the message and the counts that matter here. */
  function linesLog(): Log {
    const write = (json: string) => {
      const { msg, kind, failures, deferred, failed } = JSON.parse(json) as Line;
      const counts = deferred === undefined ? [] : [`${deferred} deferred, ${failed} failed`];
      const facts = [kind, failures?.toString()].filter((fact) => fact !== undefined);
      lines.push([msg, ...facts, ...counts].join(' | '));
    };
    return createLog('info', { format: 'json', destination: { write } });
  }

  const JUDGED = { judge: 'openai/gpt-5-mini', scorer: 'hallucination' };

  function fails(kind: string, status: 'deferred' | 'failed' = 'deferred') {
    health.observe({ ...JUDGED, status, kind, reason: `judge_unavailable: ${kind}` });
  }

  function succeeds() {
    health.observe({ ...JUDGED, status: 'scored', kind: '', reason: '' });
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    lines = [];
    health = createJudgeHealth({ log: linesLog() });
  });

  afterEach(() => {
    health.stop();
    vi.useRealTimers();
  });

  describe('a judge that fails', () => {
    it('is logged at the first failure of each kind, and then with counts each minute', () => {
      ['HTTP 500', 'HTTP 500', 'HTTP 401', 'HTTP 500'].forEach((kind) => fails(kind));
      fails('malformed reply', 'failed');
      expect(lines).toEqual([
        'judge fails | HTTP 500',
        'judge fails | HTTP 401',
        'judge fails | malformed reply',
      ]);
      vi.advanceTimersByTime(60_000);
      expect(lines.slice(3)).toEqual(['judge still fails | 4 deferred, 1 failed']);
      fails('HTTP 500');
      vi.advanceTimersByTime(60_000);
      expect(lines.slice(4)).toEqual(['judge still fails | 1 deferred, 0 failed']);
    });

    it('is logged as working again at the first success after it', () => {
      fails('HTTP 500');
      fails('HTTP 500');
      expect(health.states()).toMatchObject([{ ...JUDGED, state: 'failing', failingSinceMs: 1_000_000 }]);
      succeeds();
      expect(lines).toEqual(['judge fails | HTTP 500', 'judge works again | 2']);
      expect(health.states()).toMatchObject([
        { state: 'ok', failingSinceMs: null, deferred: 2, kinds: { 'HTTP 500': 2 }, succeeded: 1 },
      ]);
      vi.advanceTimersByTime(600_000);
      expect(lines).toHaveLength(2);
    });

    it('now and then gives few lines, however often it happens', () => {
      for (let minute = 0; minute < 10; minute += 1) {
        for (let turn = 0; turn < 60; turn += 1) {
          fails('timeout');
          succeeds();
          vi.advanceTimersByTime(1_000);
        }
      }
      expect(lines.length).toBeLessThanOrEqual(2 + 2 * 10);
      expect(lines.filter((line) => line === 'judge fails | timeout')).toHaveLength(1);
      expect(lines).toContain('judge still fails | 59 deferred, 0 failed');
    });

    it('is logged a last time at the stop', () => {
      fails('HTTP 500');
      health.stop();
      expect(lines.at(-1)).toBe('judge still fails | 1 deferred, 0 failed');
    });

    it('logs nothing about a working judge, and names a scorer without a judge', () => {
      succeeds();
      vi.advanceTimersByTime(120_000);
      expect(lines).toEqual([]);
      health.observe({ judge: '', scorer: 'mine', status: 'failed', kind: 'scorer_failed', reason: 'x' });
      expect(lines).toEqual(['scorer fails | scorer_failed']);
    });
  });

  describe('a judge that a budget holds back', () => {
    it.each(['budget', 'budget_exhausted'])('never fails, by the log and its state (%s)', (kind) => {
      fails(kind);
      vi.advanceTimersByTime(60_000);
      expect(health.states()).toMatchObject([
        { state: 'ok', failingSinceMs: null, lastFailure: null, deferred: 1, kinds: { [kind]: 1 } },
      ]);
      succeeds();
      expect(lines).toEqual([
        `judge is held back by a budget | ${kind}`,
        'judge is still held back by a budget | 1 deferred, 0 failed',
        'judge is no longer held back by a budget | 0',
      ]);
    });

    it('fails from its first fault on, and works again after it', () => {
      fails('budget');
      vi.advanceTimersByTime(1_000);
      fails('HTTP 500');
      expect(health.states()).toMatchObject([{ state: 'failing', failingSinceMs: 1_001_000 }]);
      vi.advanceTimersByTime(59_000);
      succeeds();
      expect(lines.slice(1)).toEqual([
        'judge fails | HTTP 500',
        'judge still fails | 2 deferred, 0 failed',
        'judge works again | 1',
      ]);
    });
  });
});
