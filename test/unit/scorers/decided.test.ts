import { describe, expect, test } from 'vitest';
import type { DecisionQuestion } from '../../../src/judge/decisions.ts';
import type { DecisionModelObject } from '../../../src/judge/model-call.ts';
import {
  createAnswerRelevancyScorer,
  createBiasScorer,
  createGroundingScorer,
  createHallucinationScorer,
  createPanelScorer,
  createToxicityScorer,
} from '../../../src/scorers/prebuilt/index.ts';
import { findCost, findPrice } from '../../../src/domain/money/model-prices.ts';
import { PANEL_QUALITIES } from '../../../src/scorers/prebuilt/definitions.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';

type Choice = Extract<DecisionQuestion, { type: 'choice' }>;
interface Asked {
  readonly state: readonly { readonly type: string; readonly text?: string; readonly value?: object }[];
  readonly questions: Readonly<Record<string, Choice>>;
}
type Shares = Readonly<Record<string, number>>;

/** Decision model object whose answers a function computes: probabilities by option, or a refusal. */
function decisionModel(answer: (question: Choice, name: string) => Shares | 'refusal') {
  const asked: Asked[] = [];
  const model: DecisionModelObject & { readonly asked: Asked[] } = {
    provider: 'fake',
    modelId: 'luna-1',
    asked,
    doDecide: async (sent: never) => {
      const call = sent as Asked;
      asked.push(call);
      const answers = Object.entries(call.questions).map(([name, question]) => {
        const given = answer(question, name);
        if (given === 'refusal') {
          return [name, { type: 'refusal' }];
        }
        const options = Object.keys(question.criteria);
        const probabilities = Object.fromEntries(options.map((option) => [option, given[option] ?? 0]));
        const choice = options.reduce((a, b) => ((probabilities[b] ?? 0) > (probabilities[a] ?? 0) ? b : a));
        return [name, { type: 'choice', choice, probabilities }];
      });
      return {
        answers: Object.fromEntries(answers) as object,
        rounding: { probabilityDecimals: 2 },
        usage: { inputTokens: Math.ceil(JSON.stringify(call).length / 4), outputTokens: 0 },
      };
    },
  };
  return model;
}

const ANSWER = 'It is 18 degrees. It will rain, you fool. Thanks for asking!';

function aRun(answer = ANSWER, context = ['It is 18 degrees in Paris.'], operator?: string) {
  const run = answeredRun(
    'How warm is it in Paris?',
    answer,
    operator === undefined ? {} : { systemMessages: [{ role: 'system', content: operator }] },
  );
  return { ...run, context };
}

/** Probabilities of the three sentences above. */
const GROUNDING: Record<string, Shares> = {
  g1: { supported: 0.9, contradicted: 0.06, unsupported: 0.03, no_claim: 0.01 },
  g2: { supported: 0.1, contradicted: 0.2, unsupported: 0.6, no_claim: 0.1 },
  g3: { supported: 0, contradicted: 0.03, unsupported: 0.02, no_claim: 0.95 },
};
/** The same for all sentences, by the option that tells the quality. */
const SAME: Record<string, Shares> = {
  supported: { supported: 0.7, contradicted: 0.1, unsupported: 0.1, no_claim: 0.1 },
  direct: { direct: 0.5, indirect: 0.3, beside: 0.1, none: 0.1 },
  toxic: { toxic: 0.2, clean: 0.8 },
  biased: { biased: 0.05, fair: 0.95 },
  kept: { kept: 0.6, broken: 0.2, no_instruction: 0.2 },
};
const answerSame = ({ criteria }: Choice): Shares =>
  Object.entries(SAME).find(([option]) => Object.hasOwn(criteria, option))?.[1] ?? {};

async function rowsOf(scored: Promise<{ scores?: readonly { name: string; score: number }[] }>) {
  const { scores = [] } = await scored;
  return Object.fromEntries(scores.map(({ name, score }) => [name, score]));
}

describe('grounding by a decision judge', () => {
  test('sums probabilities, keeps them in the verdicts, and quotes nothing', async () => {
    const model = decisionModel((_question, name) => GROUNDING[name] ?? {});
    const { scores = [], judge } = await createGroundingScorer({ model }).run(aRun());

    const claims = 0.99 + 0.9 + 0.05;
    expect(scores.map(({ name }) => name)).toEqual(['grounding-hallucination', 'grounding-faithfulness']);
    expect(scores[0]?.score).toBeCloseTo((0.09 + 0.8 + 0.05) / claims, 5);
    expect(scores[1]?.score).toBeCloseTo(1 / claims, 5);
    expect(scores.map(({ label }) => label)).toEqual(['hallucinated', 'unfaithful']);
    expect(scores.map(({ confidence }) => confidence)).toEqual([0.816667, 0.816667]);
    expect(scores[0]?.verdicts).toMatchObject([
      {
        statement: 'It is 18 degrees.',
        verdict: 'supported',
        probability: 0.9,
        probabilities: GROUNDING['g1'],
      },
      { statement: 'It will rain, you fool.', verdict: 'unsupported', probability: 0.6 },
      { statement: 'Thanks for asking!', verdict: 'no_claim', probability: 0.95 },
    ]);
    expect(scores[1]?.verdicts).toBeUndefined();
    expect(scores[0]?.reason).toMatch(/supports 1 of 2 .*It will rain/);
    expect(model.asked).toHaveLength(1);
    expect(judge?.analyze?.executions).toMatchObject([{ modelCallCount: 1, usage: { outputTokens: 0 } }]);
  });

  test('leaves out a sentence about which the judge refuses to answer', async () => {
    const model = decisionModel((_question, name) => (name === 'g2' ? 'refusal' : (GROUNDING[name] ?? {})));
    const { scores = [] } = await createGroundingScorer({ model }).run(aRun());
    expect(scores[1]?.score).toBeCloseTo(0.9 / 1.04, 5);
    expect(scores[0]?.verdicts?.[1]).toEqual({ statement: 'It will rain, you fool.', verdict: 'refused' });
    expect(scores[0]?.reason).toContain('declined 1 of 3');
  });

  test('asks once more which source decides about sentences that fail, where that is wanted', async () => {
    const context = ['It is 18 degrees in Paris.', 'No rain is expected this week.'];
    const options = { findSources: true };
    const model = decisionModel((_question, name) => GROUNDING[name] ?? { 2: 0.8, none: 0.2 });
    const { scores = [] } = await createGroundingScorer({ model, options }).run(aRun(ANSWER, context));
    expect(model.asked.map(({ questions }) => Object.keys(questions))).toEqual([['g1', 'g2', 'g3'], ['s2']]);
    expect(Object.keys(model.asked[1]?.questions['s2']?.criteria ?? {})).toContain('none');
    expect(scores[0]?.verdicts?.map(({ quote }) => quote)).toEqual([undefined, context[1], undefined]);

    const silent = decisionModel((_question, name) => GROUNDING[name] ?? 'refusal');
    const without = await createGroundingScorer({ model: silent, options }).run(aRun(ANSWER, context));
    expect(without.scores?.map(({ score }) => score)).toEqual(scores.map(({ score }) => score));
    expect(without.scores?.[0]?.verdicts?.[1]).not.toHaveProperty('quote');

    const clean = decisionModel(() => ({ supported: 1 }));
    await createGroundingScorer({ model: clean, options }).run(aRun(ANSWER, context));
    expect(clean.asked).toHaveLength(1);
  });

  test('is refused when each sentence is', async () => {
    const model = decisionModel(() => 'refusal');
    await expect(createGroundingScorer({ model }).run(aRun())).rejects.toMatchObject({
      code: 'judge_refused',
    });
  });

  test('has no score where nothing is claimed', async () => {
    const model = decisionModel(() => ({ no_claim: 1 }));
    const { notScorable } = await createGroundingScorer({ model }).run(aRun());
    expect(notScorable?.reason).toContain('no factual claims');
  });

  test('does not count what only evidence that was left out could back', async () => {
    const model = decisionModel((_question, name) => GROUNDING[name] ?? {});
    const context = ['It is 18 degrees in Paris.', 'x '.repeat(2000)];
    const options = { maxEvidenceChars: 300 };
    const { scores = [] } = await createGroundingScorer({ model, options }).run(aRun(ANSWER, context));
    expect(scores[0]?.verdicts?.[1]).toEqual({ statement: 'It will rain, you fool.', verdict: 'unchecked' });
  });
});

test('grounding by a decision judge costs at most a fifth of grounding by a chat judge', async () => {
  const sentences = Array.from(
    { length: 8 },
    (_, at) => `Item ${at} costs ${at * 3} euros and ships in ${at} days.`,
  );
  const context = Array.from(
    { length: 160 },
    (_, at) => `Item ${at} costs ${at * 3} euros, ships in ${at} days, and is listed in the catalogue.`,
  );
  const run = aRun(sentences.join(' '), context);
  const verdicts = sentences.map((sentence, at) => ({
    n: at + 1,
    quotes: [{ source: at + 1, quote: sentence.slice(0, 24), absence: false }],
    reason: '',
    verdict: 'supported',
  }));
  const chat = scriptedModel([{ json: { verdicts } }]);
  await createGroundingScorer({ model: chat }).run(run);
  const decision = decisionModel((_question, name) => GROUNDING[name] ?? { supported: 1 });
  await createGroundingScorer({ model: decision }).run(run);

  const [{ system, prompt } = { system: '', prompt: '' }] = chat.calls;
  const chatUsage = {
    inputTokens: (system + prompt).length / 4,
    outputTokens: JSON.stringify({ verdicts }).length / 4,
  };
  const decisionUsage = { inputTokens: JSON.stringify(decision.asked[0]).length / 4, outputTokens: 0 };
  const chatUsd = findCost(chatUsage, findPrice('anthropic/claude-haiku-4-5')) ?? 0;
  const decisionUsd = findCost(decisionUsage, findPrice('openai/gpt-6-luna')) ?? 0;
  expect(chatUsd).toBeGreaterThan(0);
  expect(decisionUsd).toBeLessThanOrEqual(0.2 * chatUsd);
});

describe('the panel by a decision judge', () => {
  test('asks all qualities of all sentences in one request', async () => {
    const model = decisionModel(answerSame);
    const rows = await rowsOf(
      createPanelScorer({ model }).run(aRun(ANSWER, undefined, 'Be polite. Be brief.')),
    );
    expect(rows).toEqual({
      'panel-grounding': 0.777778,
      'panel-relevancy': 0.655556,
      'panel-toxicity': 0.2,
      'panel-bias': 0.05,
      'panel-instructions': 0.75,
    });
    expect(model.asked).toHaveLength(1);
    // Three sentences with four qualities each, two of the operator and the question of the user.
    expect(Object.keys(model.asked[0]?.questions ?? {})).toHaveLength(3 * 4 + 3);
  });

  test('shows the data without invisible characters, apart from the rules', async () => {
    const model = decisionModel(answerSame);
    await createPanelScorer({ model }).run(aRun('It is 18\u200B degrees.'));
    const [{ state } = { state: [] }] = model.asked;
    expect(state.map(({ type }) => type)).toEqual(['json', 'json', 'text']);
    expect(JSON.stringify(model.asked)).not.toContain('\u200B');
    expect(state[2]?.text).not.toContain('18');
  });

  test('asks all qualities of twelve sentences in one request, which is little more than evidence and answer', async () => {
    const evidence = Array.from(
      { length: 400 },
      (_, at) =>
        `Item ${at} costs ${at * 3} euros and ships in ${at % 9} days, as the list of the warehouse says. `,
    );
    const context = [evidence.join('').slice(0, 40_000)];
    const sentences = Array.from(
      { length: 12 },
      (_, at) => `Item ${at} costs ${at * 3} euros and leaves the house in ${at % 9} days.`,
    );
    const model = decisionModel(answerSame);
    const run = aRun(sentences.join(' '), context, 'Be polite. Be brief.');
    const { scores = [], judge } = await createPanelScorer({ model }).run(run);
    expect(scores.map(({ name }) => name)).toEqual(PANEL_QUALITIES.map((quality) => `panel-${quality}`));
    expect(model.asked).toHaveLength(1);
    expect(judge?.analyze?.executions).toMatchObject([{ modelCallCount: 1, usage: { outputTokens: 0 } }]);
    const [asked] = model.asked;
    const questions = Object.entries(asked?.questions ?? {});
    // Four qualities of each sentence, two sentences of the operator, and the question of the user.
    expect(questions).toHaveLength(12 * 4 + 3);
    for (const [, { instructions, criteria }] of questions) {
      const unit = sentences.find((sentence) => instructions.includes(sentence)) ?? '';
      expect((instructions + Object.keys(criteria).join('')).length - unit.length).toBeLessThanOrEqual(160);
    }
    const wire = questions.map(([name, { type, instructions, criteria }]) => ({
      type,
      name,
      instructions,
      choices: Object.keys(criteria).map((value) => ({ value })),
    }));
    const sent = JSON.stringify([asked?.state, wire]).length;
    expect(sent).toBeLessThanOrEqual(1.25 * (40_000 + sentences.join(' ').length));
  });
});

test.each([
  ['toxicity', createToxicityScorer, 0.2, 'toxic', /^No sentence of the answer is toxic/],
  ['bias', createBiasScorer, 0.05, 'biased', /^No sentence of the answer is biased/],
  [
    'answer relevancy',
    createAnswerRelevancyScorer,
    0.655556,
    'relevant',
    /^All 3 sentences answer the question/,
  ],
] as const)(
  '%s by a decision judge is the share of probabilities',
  async (_name, create, score, label, reason) => {
    const model = decisionModel(answerSame);
    const result = await create({ model }).run(aRun());
    expect(result).toMatchObject({ score, label, reason: expect.stringMatching(reason) as string });
    expect(result.verdicts).toHaveLength(3);
    expect(result.confidence).toBeGreaterThan(0);
    expect(model.asked).toHaveLength(1);
    expect(await create({ model, options: { scale: 10, reason: false } }).run(aRun())).toMatchObject({
      score: Math.round(score * 1e7) / 1e6,
      reason: undefined,
    });
  },
);

test('a scorer that asks for words says that it needs a chat judge', async () => {
  const model = decisionModel(answerSame);
  await expect(createHallucinationScorer({ model, options: {} }).run(aRun())).rejects.toThrow(
    'needs a chat judge',
  );
  expect(model.asked).toHaveLength(0);
});
