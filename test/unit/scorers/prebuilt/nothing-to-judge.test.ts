import { describe, expect, it } from 'vitest';
import * as prebuilt from '../../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../../src/scorers/shared/utils.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';
import type { ScriptedModelReply } from '../../../support/fakes/scripted-model.ts';

function buildRun(groundTruth?: string) {
  const run = createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: 'Weather?' })],
    output: [createTestMessage({ role: 'assistant', content: 'It rains.' })],
  });
  return groundTruth === undefined ? run : { ...run, groundTruth };
}

const judge = (...replies: ScriptedModelReply[]) => scriptedModel(replies);

describe('without anything to judge', () => {
  it('an answer without a comparison scores 0, and no judge is asked', async () => {
    const model = judge();
    const scorer = prebuilt.createAnswerSimilarityScorer({ model, options: { requireGroundTruth: false } });
    const { score, reason } = await scorer.run(buildRun());
    expect(score).toBe(0);
    expect(reason).toContain('nothing to compare');
    expect(model.calls).toHaveLength(0);
  });

  it('a ground truth without claims scores 0 after the question for its claims', async () => {
    const model = judge({ json: { claims: [] } });
    const scorer = prebuilt.createContextRecallScorer({ model, options: { context: ['doc'] } });
    const { score, reason } = await scorer.run(buildRun('Hello!'));
    expect(score).toBe(0);
    expect(reason).toContain('no factual claims');
    expect(model.calls).toHaveLength(1);
  });

  it('a missing ground truth is not scorable', async () => {
    const scorer = prebuilt.createContextRecallScorer({ model: judge(), options: { context: ['doc'] } });
    const { notScorable } = await scorer.run(buildRun());
    expect(notScorable?.reason).toContain('no ground truth');
  });

  it.each([
    [10, 1],
    [0.5, 0.5],
  ])('a rubric without points on a scale of %d scores %d, and nobody is asked', async (scale, expected) => {
    const model = judge();
    const scorer = prebuilt.createRubricScorer({ model, options: { scale, reason: 'judge' } });
    const { score, reason } = await scorer.run(buildRun());
    expect(score).toBe(expected);
    expect(reason).toContain('no rubric');
    expect(model.calls).toHaveLength(0);
  });
});

describe('keywords of two empty texts', () => {
  it('are wrapped once more, as readers of recorded step results know them', async () => {
    const run = createAgentTestRun({ inputMessages: [], output: [] });
    const { score, preprocessStepResult } = await prebuilt.createKeywordCoverageScorer().run(run);
    expect(score).toBe(1);
    expect(preprocessStepResult).toEqual({
      result: { referenceKeywords: new Set(), responseKeywords: new Set() },
    });
  });
});

describe('an output that no answer can be read from', () => {
  const unreadable = [{ answer: 'You fool.' }, {}, 7, true];

  it.each(unreadable)('is refused and does not count as an empty answer: %j', async (output) => {
    const model = judge();
    const run = { input: 'q', output: output as never, context: ['It rains.'] };
    for (const create of [
      prebuilt.createToxicityScorer,
      prebuilt.createHallucinationScorer,
      prebuilt.createBiasScorer,
      prebuilt.createGroundingScorer,
      prebuilt.createPanelScorer,
    ]) {
      await expect(create({ model }).run(run)).rejects.toThrow('no answer can be read from it');
    }
    expect(model.calls).toHaveLength(0);
  });

  it.each([undefined, null, '', [], { role: 'assistant', content: '' }, { text: '' }])(
    'is not an output without an answer: %j',
    async (output) => {
      const run = { input: 'q', output: output as never };
      expect((await prebuilt.createToxicityScorer({ model: judge() }).run(run)).score).toBe(0);
    },
  );

  it('does not affect a rubric that gets the text separately', async () => {
    const model = judge({ json: { criteria: [{ n: 1, satisfied: true }] } });
    const scorer = prebuilt.createRubricScorer({ model, criteria: '- polite', options: { reason: false } });
    const run = { input: { originalTask: 'Greet.', currentText: 'Good day.' }, output: { step: 1 } };
    expect((await scorer.run(run)).score).toBe(1);
    expect(model.calls[0]?.prompt).toContain('Good day.');
  });
});

it.each([
  [['It rains.', 'you fool'], 1],
  [['you fool'], 0],
])('toxicity counts no passage that does not stand in the answer: %j', async (toxic, score) => {
  const result = await prebuilt
    .createToxicityScorer({ model: judge({ json: { toxic, fair: [] } }), options: { reason: false } })
    .run(buildRun());
  expect(result.score).toBe(score);
  expect(result.verdicts?.map(({ statement }) => statement) ?? []).toEqual(
    toxic.filter((passage) => passage === 'It rains.'),
  );
});
