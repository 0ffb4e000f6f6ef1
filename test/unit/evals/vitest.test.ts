import { describe, expect, it } from 'vitest';
import { createScorer } from '../../../src/evals/index.ts';
import type { EvalAgent, RunEvalsResult } from '../../../src/evals/index.ts';
import { evalMatchers, expectEval, expectEvals } from '../../../src/evals/vitest.ts';

const agent: EvalAgent = { generate: async (input: string) => ({ scoringData: { input, output: [] } }) };
const data = [{ input: 'a' }, { input: 'b' }];

function constant(id: string, score: number) {
  return createScorer({ id }).generateScore(() => score);
}

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
    await expect(running).rejects.toThrow(/gate "gate" has mean 0, not 0\.2.*"half" has mean 0\.5/s);
    await expect(running).rejects.not.toThrow('"low"');
  });

  it('holds gates to the share of items that has to pass', async () => {
    const firstOnly = createScorer({ id: 'first' }).generateScore(({ run }) => (run.input === 'a' ? 1 : 0));
    const config = { target: agent, data, gates: [firstOnly] };
    expect(await expectEvals(config).toPass(0.5)).toMatchObject({ verdict: 'failed' });
    await expect(expectEvals(config).toPass(0.6)).rejects.toThrow('gate "first" has mean 0.5, not 0.6');
    await expect(expectEvals(config).toPass()).rejects.toThrow('gate "first" has mean 0.5, not 1');
  });

  it('holds scorers to the share where nothing else is demanded', async () => {
    const config = { target: agent, data, scorers: [constant('half', 0.5), constant('low', 0.1)] };
    await expect(expectEvals(config).toPass(0.2)).rejects.toThrow('"low" has mean 0.1, below 0.2');
    expect(await expectEvals(config).toPass(0.1)).toMatchObject({ scores: { half: 0.5, low: 0.1 } });
  });

  it.each([-0.1, 1.5, Number.NaN])('refuses the share %s', async (share) => {
    const running = expectEvals({ target: agent, data, scorers: [constant('one', 1)] }).toPass(share);
    await expect(running).rejects.toThrow('give a share from 0 to 1');
  });

  it('asks for full scores where nothing else is asked for', async () => {
    await expect(
      expectEval({ target: agent, data: { input: 'a' }, scorers: [constant('half', 0.5)] }).toPass(),
    ).rejects.toThrow('below 1');
  });

  it('does not pass when something failed', async () => {
    const boom = createScorer({ id: 'boom' }).generateScore(() => {
      throw new Error('no verdict');
    });
    await expect(
      expectEvals({ target: agent, data, scorers: [boom, constant('one', 1)] }).toPass(),
    ).rejects.toThrow('no verdict');
  });
});

describe('the matchers', () => {
  const result: RunEvalsResult = {
    scores: { agent: { tone: 0.5 } },
    summary: { totalItems: 1 },
    verdict: 'scored',
    thresholdResults: [{ id: 'tone', passed: false, averageScore: 0.5, threshold: 0.9 }],
  };

  it('look scores up by path', () => {
    expect(evalMatchers.toHaveScoreAbove(result, 'agent.tone', 0.4).pass).toBe(true);
    expect(evalMatchers.toHaveScoreBelow(result, 'agent.tone', 0.4).pass).toBe(false);
    expect(evalMatchers.toHaveScoreAbove(result, 'other', 0).pass).toBe(false);
  });

  it('tell verdict, gates and thresholds', () => {
    expect(evalMatchers.toHaveVerdict(result, 'scored').pass).toBe(true);
    const gateResults = [{ id: 'polite', passed: true, score: 1 }];
    expect(evalMatchers.toPassGates({ ...result, gateResults }).pass).toBe(true);
    const { pass, message } = evalMatchers.toPassThresholds(result);
    expect(pass).toBe(false);
    expect(message()).toContain('"tone" has mean 0.5');
  });

  it('let nothing pass that was not asked', () => {
    const bare: RunEvalsResult = { scores: {}, summary: { totalItems: 1 } };
    expect(evalMatchers.toPassGates(bare).pass).toBe(false);
    expect(evalMatchers.toPassGates(bare).message()).toContain('there are no gates');
    expect(evalMatchers.toPassThresholds(bare).pass).toBe(false);
  });
});
