import { describe, expect, it } from 'vitest';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { findSeriesFaults } from '../../../src/config/index.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { createAskScorer, type AskedAnswer, type AskOptions } from '../../../src/scorers/prebuilt/index.ts';
import { readAnswer, readQuestion } from '../../../src/scorers/shared/messages.ts';
import { buildRun } from '../../support/builders/judged-cases.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';

const LEVELS: AskedAnswer = { type: 'score', levels: ['useless: no help', 'partly: some', 'Solves it: all'] };
const INTENT: AskedAnswer = { type: 'choice', options: { weather: 'a forecast', other: '' } };

async function ask(options: AskOptions, ...replies: object[]) {
  const model = scriptedModel(replies.map((json) => ({ json })));
  const scorer = createAskScorer({ model, ask: 'Does it promise rain?', options });
  const { higherIsBetter, range } = scorer;
  return { model, higherIsBetter, range, result: await scorer.run(buildRun()) };
}

describe('an own judge', () => {
  it.each([
    [{ type: 'boolean' }, true, { score: 1, label: 'true', higherIsBetter: true, range: [0, 1] }],
    [
      { type: 'boolean', good: false },
      true,
      { score: 1, label: 'true', higherIsBetter: false, range: [0, 1] },
    ],
    [
      { type: 'boolean', good: false },
      false,
      { score: 0, label: 'false', higherIsBetter: false, range: [0, 1] },
    ],
    [LEVELS, 'partly', { score: 0.5, label: 'partly', higherIsBetter: true, range: [0, 1] }],
    [LEVELS, 'solves it', { score: 1, label: 'Solves it', higherIsBetter: true, range: [0, 1] }],
    [INTENT, 'other', { score: 1, label: 'other', higherIsBetter: null, range: null }],
  ] as const)('scores the answer to %j: %s', async (answer, given, expected) => {
    const reply = { quote: 'It will rain', reason: 'it says so', answer: given };
    const { result, ...scale } = await ask({ answer }, reply);
    expect({
      score: result.score,
      label: result.label,
      higherIsBetter: scale.higherIsBetter,
      range: scale.range,
    }).toEqual(expected);
    expect(result.verdicts).toEqual([
      {
        statement: 'Does it promise rain?',
        verdict: expected.label,
        reason: 'it says so',
        quote: 'It will rain',
      },
    ]);
  });

  it('leaves out a quote that the judge did not see', async () => {
    const reply = { quote: 'It will snow', reason: 'r', answer: true };
    expect((await ask({}, reply)).result.verdicts?.[0]).not.toHaveProperty('quote');
    const operator = { quote: 'You tell the weather', reason: 'r', answer: true };
    expect((await ask({}, operator)).result.verdicts?.[0]).toMatchObject({ source: 'system' });
    expect((await ask({ sees: ['answer'] }, operator)).result.verdicts?.[0]).not.toHaveProperty('quote');
  });

  it('fails where the judge names no possible answer twice', async () => {
    const reply = { quote: '', reason: '', answer: 'great' };
    await expect(ask({ answer: LEVELS }, reply, reply)).rejects.toMatchObject({ code: 'judge_malformed' });
  });

  it.each([
    [undefined, ['answer', 'operator', 'tools', 'user']],
    [['answer'], ['answer']],
    [['question'], ['user']],
    [
      ['tool-results', 'system'],
      ['operator', 'tools'],
    ],
  ] as const)('shows its judge, where it sees %j, %j', async (sees, shown) => {
    const { model } = await ask({ ...(sees && { sees }) }, { quote: '', reason: '', answer: true });
    const fenced = readFencedPrompt(model.calls[0]?.prompt ?? '');
    expect(Object.keys(JSON.parse(fenced?.json ?? '{}')).sort()).toEqual(shown);
    expect(fenced?.task).toContain('Does it promise rain?');
  });

  it('shows examples as data, beside the run', async () => {
    const examples = [{ text: 'Sunny all day.', answer: false }];
    const { model } = await ask({ examples }, { quote: '', reason: '', answer: true });
    const fenced = readFencedPrompt(model.calls[0]?.prompt ?? '');
    expect(JSON.parse(fenced?.json ?? '{}')).toMatchObject({ examples: { 1: examples[0] } });
  });

  it('shows runs as examples by their traces, but no run itself and none that is not stored', async () => {
    const model = scriptedModel([{ json: { quote: '', reason: '', answer: true } }]);
    const traces = ['other', 'own', 'gone'].map((traceId) => ({ traceId, answer: false }));
    const scorer = createAskScorer({ model, ask: 'Does it rain?', options: { examples: traces } });
    const { input, output } = buildRun();
    const exampleRuns = { other: { input, output }, own: { input, output } };
    await scorer.run({ ...buildRun(), targetTraceId: 'own', exampleRuns });
    const { examples } = JSON.parse(
      readFencedPrompt(model.calls[0]?.prompt ?? '')?.json ?? '{}',
    ) as object & {
      examples: object;
    };
    expect(examples).toEqual({
      1: { question: readQuestion(buildRun()), text: readAnswer(buildRun()), answer: false },
    });
  });

  it('is the entry of a scorer with a question, also when the configuration is read again, as serve reads it', () => {
    const config = parseConfig(
      {
        judges: { default: 'openai/gpt-5-mini' },
        scorers: {
          rain: { ask: 'Does it promise rain?', answer: LEVELS as never, sees: ['answer'] },
          briefly: { use: 'grounding', sees: ['tool-results'], reason: 'on-demand' },
        },
        rules: [{ name: 'all', scorers: ['rain', 'briefly'] }],
      },
      { scorers: PREBUILT_SCORERS },
    );
    expect(config.scorers).toEqual({
      rain: { use: 'ask', options: { ask: 'Does it promise rain?', answer: LEVELS, sees: ['answer'] } },
      briefly: { use: 'grounding', options: { sees: ['tool-results'], reason: false } },
    });
    expect(parseConfig(config, { scorers: PREBUILT_SCORERS })).toEqual(config);
  });

  it('has no mean that a monitor could watch where it chooses among options', () => {
    const { scorers, rules } = parseConfig({
      scorers: { intent: { ask: 'What is wanted?', answer: INTENT, judge: 'openai/gpt-5-mini' } },
      rules: [{ name: 'all', scorers: ['intent'] }],
    });
    const faults = findSeriesFaults({ scorer: 'intent' }, { scorers, rules, known: PREBUILT_SCORERS });
    expect(faults).toEqual([
      expect.objectContaining({ key: 'scorer', message: expect.stringContaining('no mean') }),
    ]);
  });

  it.each([
    [{ type: 'boolean', good: false }, { type: 'boolean', probability: 0.83 }, 0.83, 'true', 0.83],
    [LEVELS, { type: 'score', probabilities: { 0: 0.2, 1: 0.5, 2: 0.3 } }, 0.55, 'partly', 0.5],
    [
      INTENT,
      { type: 'choice', choice: 'weather', probabilities: { weather: 0.7, other: 0.3 } },
      0.7,
      'weather',
      0.7,
    ],
  ] as const)(
    'scores the probabilities of a decision judge about %j',
    async (answer, given, score, label, confidence) => {
      const asked: object[] = [];
      const model = {
        provider: 'fake',
        modelId: 'luna-1',
        doDecide: async (sent: unknown) => {
          asked.push(sent as object);
          return { answers: { answer: given }, usage: { inputTokens: 10, outputTokens: 0 } };
        },
      };
      const scorer = createAskScorer({ model: model, ask: 'Does it rain?', options: { answer } });
      const result = await scorer.run(buildRun());
      expect(result).toMatchObject({ score, label, confidence });
      const [verdict] = result.verdicts ?? [];
      expect(verdict).toMatchObject({ statement: 'Does it rain?', verdict: label, probability: confidence });
      expect(verdict?.probabilities?.[label]).toBe(confidence);
      expect(asked).toHaveLength(1);
      expect(asked[0]).toMatchObject({
        questions: { answer: { type: answer.type, instructions: 'Does it rain?' } },
      });
    },
  );
});
