import { describe, expect, it } from 'vitest';
import {
  createScorer,
  notScorable,
  type EvalAgent,
  type RunEvalsResult,
} from '../../../../src/scorers/evals/index.ts';
import {
  EvalPassRateError,
  evalMatchers,
  expectEval,
  expectEvals,
  registerEvalMatchers,
} from '../../../../src/scorers/evals/vitest.ts';

const agent: EvalAgent = { generate: async (input: string) => ({ scoringData: { input, output: [] } }) };
const data = [{ input: 'a' }, { input: 'b' }];

function constant(id: string, score: number) {
  return createScorer({ id }).generateScore(() => score);
}

const failing = createScorer({ id: 'boom' }).generateScore(() => {
  throw new Error('no verdict');
});

describe('expectEvals', () => {
  it('passes when gates and thresholds hold', async () => {
    const config = {
      target: agent,
      data,
      gates: [constant('gate', 1)],
      scorers: [{ scorer: constant('half', 0.5), threshold: 0.5 }],
    };
    expect(await expectEvals(config).toPass()).toMatchObject({ verdict: 'passed', scores: { half: 0.5 } });
  });

  it('says which gate and threshold did not hold', async () => {
    const config = {
      target: agent,
      data,
      gates: [constant('gate', 0)],
      scorers: [{ scorer: constant('half', 0.5), threshold: { min: 0.6 } }, constant('low', 0.1)],
    };
    const running = expectEvals(config).toPass(0.2);
    await expect(running).rejects.toThrow(
      /gate gate: pass rate 0% < required 20%.*threshold half: average score 0\.5/s,
    );
    await expect(running).rejects.not.toThrow('low');
  });

  it('holds gates to the share of items that has to pass', async () => {
    const firstOnly = createScorer({ id: 'first' }).generateScore(({ run }) => (run.input === 'a' ? 1 : 0));
    const config = { target: agent, data, gates: [firstOnly] };
    expect(await expectEvals(config).toPass(0.5)).toMatchObject({ verdict: 'failed' });
    await expect(expectEvals(config).toPass(0.6)).rejects.toThrow('gate first: pass rate 50% < required 60%');
    await expect(expectEvals(config).toPass()).rejects.toThrow('gate first: pass rate 50% < required 100%');
  });

  it('compares scorers with the share when there are no gates and thresholds', async () => {
    const config = { target: agent, data, scorers: [constant('half', 0.5), constant('low', 0.1)] };
    await expect(expectEvals(config).toPass(0.2)).rejects.toThrow('scorer low: average score 0.1, below 0.2');
    expect(await expectEvals(config).toPass(0.1)).toMatchObject({ scores: { half: 0.5, low: 0.1 } });
  });

  it.each([-0.1, 1.5, Number.NaN])('refuses the share %s', async (share) => {
    const running = expectEvals({ target: agent, data, scorers: [constant('one', 1)] }).toPass(share);
    await expect(running).rejects.toThrow(/must be within \[0, 1\]/);
  });

  it('asks for full scores where nothing else is asked for', async () => {
    await expect(
      expectEval({ target: agent, data: { input: 'a' }, scorers: [constant('half', 0.5)] }).toPass(),
    ).rejects.toThrow('below 1');
  });

  it('does not pass when something failed', async () => {
    await expect(
      expectEvals({ target: agent, data, scorers: [failing, constant('one', 1)] }).toPass(),
    ).rejects.toThrow('no verdict');
  });

  it('names the turn of a gate and of a threshold', async () => {
    const turns = [
      { input: 'a', gates: [constant('polite', 1)] },
      {
        input: 'b',
        gates: [constant('polite', 0)],
        scorers: [{ scorer: constant('half', 0.5), threshold: 0.6 }],
      },
    ];
    const running = expectEval({ target: agent, data: { turns } }).toPass();
    await expect(running).rejects.toThrow(EvalPassRateError);
    await expect(running).rejects.toThrow(
      /turn 1 gate polite: pass rate 0%.*turn 1 threshold half: average score 0\.5, outside 0\.6/s,
    );
    await expect(running).rejects.not.toThrow('turn 0');
  });

  it('shows the result to reporters, of an evaluation that fails too', async ({ task }) => {
    const mute = createScorer({ id: 'mute' }).generateScore(() => notScorable('no answer'));
    const running = expectEvals({
      target: agent,
      data,
      gates: [constant('gate', 0)],
      scorers: [mute, failing],
    });
    await expect(running.toPass()).rejects.toThrow(EvalPassRateError);
    const shown = {
      verdict: 'failed',
      scores: {},
      totalItems: 2,
      gateResults: [{ id: 'gate', passed: false, score: 0 }],
    };
    expect(task.meta.mastraEval).toEqual(shown);
    expect(task.meta.spanscoreEval).toEqual({
      ...shown,
      errors: [expect.stringContaining('no verdict'), expect.stringContaining('no verdict')],
      notScorable: { mute: 2 },
    });
  });

  it('names scores by path for reporters', async ({ task }) => {
    await expectEvals({ target: agent, data, scorers: { agent: [constant('tone', 1)] } }).toPass();
    expect(task.meta.mastraEval?.scores).toEqual({ 'agent.tone': 1 });
  });

  it.concurrent.for(['a', 'b'])('does not mix up tests that run at once: %s', async (id, { task }) => {
    await expectEval({ target: agent, data: { input: id }, scorers: [constant(id, 1)] }).toPass();
    expect(task.meta).toEqual({});
  });
});

registerEvalMatchers();

describe('the matchers', () => {
  const bare: RunEvalsResult = { scores: {}, summary: { totalItems: 1 } };
  const gateResults = [{ id: 'polite', passed: true, score: 1 }];
  const result: RunEvalsResult = {
    scores: { num: 0.5, agent: { tone: 0.5 } },
    summary: { totalItems: 1 },
    verdict: 'scored',
    gateResults,
    thresholdResults: [{ id: 'tone', passed: false, averageScore: 0.5, threshold: 0.9 }],
    turnResults: [{ index: 2, gateResults: [{ id: 'brief', passed: false, score: 0 }] }],
  };

  it('look scores up by path', () => {
    expect(result).toHaveScoreAbove('agent.tone', 0.4);
    expect(result).not.toHaveScoreAbove('agent.tone', 0.5);
    expect(result).toHaveScoreBelow('num', 0.6);
    expect(() => expect(result).toHaveScoreBelow('num', 0.4)).toThrow('score of "num" (0.5) to be below 0.4');
    expect(evalMatchers.toHaveScoreAbove(result, 'agent.tone', 0.4).pass).toBe(true);
  });

  it('name the scorers that exist', () => {
    expect(() => expect(result).toHaveScoreAbove('tone', 0)).toThrow('Available scorers: num, agent.tone');
    expect(() => expect(result).not.toHaveScoreAbove('tone', 0)).toThrow(
      'Available scorers: num, agent.tone',
    );
    expect(() => expect(bare).toHaveScoreBelow('tone', 1)).toThrow('Available scorers: (none)');
  });

  it('tell verdicts', () => {
    expect(result).toHaveVerdict('scored');
    expect(bare).not.toHaveVerdict('passed');
    expect(() => expect(result).toHaveVerdict('passed')).toThrow('expected verdict "passed", got "scored"');
    expect(() => expect(bare).toHaveVerdict('passed')).toThrow('got no verdict');
  });

  it('list the gates and thresholds that did not pass, with their turn', () => {
    expect({ ...bare, gateResults }).toPassGates();
    expect(() => expect(result).toPassGates()).toThrow(/1 of 2 gates .*✗ turn 2 brief \(score: 0\)/s);
    expect(result).not.toPassThresholds();
    expect(() => expect(result).toPassThresholds()).toThrow('✗ tone (average score: 0.5, threshold: 0.9)');
  });

  it('fail without a gate, threshold or score to check', () => {
    expect(() => expect(bare).toPassGates()).toThrow('no gates were configured');
    expect(() => expect(bare).not.toPassGates()).toThrow('no gates were configured');
    expect(() => expect(bare).toPassThresholds()).toThrow('no scorer thresholds were configured');
  });

  it.each([undefined, null, 3, { nope: true }, { scores: {} }])('say that %j is no result', (value) => {
    expect(() => expect(value).toHaveVerdict('passed')).toThrow('expected a RunEvalsResult');
    expect(() => expect(value).not.toPassGates()).toThrow('expected a RunEvalsResult');
  });
});
