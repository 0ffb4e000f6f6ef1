import { describe, expect, it } from 'vitest';
import type { JudgeModel } from '../../../src/judge/judge.ts';
import * as legacy from '../../../src/scorers/legacy/index.ts';
import { recordedCases } from '../../parity/recorded-cases.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';

const QUESTION = 'How warm is it in Paris?';
const ANSWER = 'It is 18 degrees. It will rain.';
const WHY = 'Because of the verdicts.';
const context = ['Paris: 18 degrees', 'Paris: dry', 'Rome: sunny'];

const verdicts = (...said: string[]) => ({
  verdicts: said.map((verdict, index) => ({ n: index + 1, verdict, reason: 'r', quote: '' })),
});
const pieces = (...said: string[]) => ({
  verdicts: said.map((verdict, context_index) => ({ context_index, verdict, reason: 'r' })),
});
const claims = { claims: ['It is 18 degrees.', 'It will rain.'] };

interface MetricCase {
  readonly name: string;
  readonly create: (model: JudgeModel) => legacy.Metric<object>;
  /** Honest replies before the explanation. */
  readonly replies: readonly object[];
  readonly score: number;
  /** Beside the reason. */
  readonly info?: object;
}

/** Metrics that no recorded case measures in full; the others are compared with what the published ones gave. */
const CASES: readonly MetricCase[] = [
  {
    // Useful are the first and the third of three: (1 + 1/3) / (1 + 1/2 + 1/3).
    name: 'ContextPositionMetric',
    create: (model) => new legacy.ContextPositionMetric(model, { context }),
    replies: [pieces('yes', 'no', 'yes')],
    score: 0.73,
  },
  {
    name: 'ContextRelevancyMetric',
    create: (model) => new legacy.ContextRelevancyMetric(model, { context, scale: 3 }),
    replies: [pieces('yes', 'no', 'yes')],
    score: 2,
  },
  {
    name: 'ContextualRecallMetric',
    create: (model) => new legacy.ContextualRecallMetric(model, { context }),
    replies: [claims, verdicts('yes', 'no')],
    score: 0.5,
  },
  {
    name: 'PromptAlignmentMetric',
    create: (model) =>
      new legacy.PromptAlignmentMetric(model, { instructions: ['be brief', 'name a source', 'use feet'] }),
    replies: [verdicts('yes', 'no', 'n/a')],
    score: 0.5,
    info: {
      scoreDetails: {
        totalInstructions: 3,
        applicableInstructions: 2,
        followedInstructions: 1,
        naInstructions: 1,
      },
    },
  },
  {
    name: 'SummarizationMetric',
    create: (model) => new legacy.SummarizationMetric(model, { scale: 2 }),
    replies: [
      {
        alignment: [
          { claim: 'a', supported: true, reason: 'r' },
          { claim: 'b', supported: false, reason: 'r' },
        ],
        questions: ['q?', 'p?', 's?', 't?'],
      },
      {
        coverage: [true, true, true, false].map((answered, index) => ({
          n: index + 1,
          answered,
          reason: 'r',
        })),
      },
    ],
    score: 1,
    info: { alignmentScore: 1, coverageScore: 1.5 },
  },
];

type MetricClass = new (...args: unknown[]) => legacy.Metric<unknown>;

const { ContentSimilarityMetric, CompletenessMetric, KeywordCoverageMetric, TextualDifferenceMetric } =
  legacy;
const judged = Object.entries(legacy as unknown as Record<string, MetricClass>).filter(
  ([name]) =>
    !['Completeness', 'ContentSimilarity', 'KeywordCoverage', 'TextualDifference', 'Tone'].some((plain) =>
      name.startsWith(plain),
    ),
);
/** Required option of a metric. */
const NEEDED: Record<string, string> = {
  HallucinationMetric: 'context',
  FaithfulnessMetric: 'context',
  ContextPositionMetric: 'context',
  ContextPrecisionMetric: 'context',
  ContextRelevancyMetric: 'context',
  ContextualRecallMetric: 'context',
  PromptAlignmentMetric: 'instructions',
};
const model = scriptedModel([]);

describe.each(judged)('%s', (name, JudgedMetric) => {
  const needed = NEEDED[name];
  const options = needed === undefined ? {} : { [needed]: ['It rains.'] };

  it('refuses one object in place of two texts, and asks no judge', async () => {
    const measuring = new JudgedMetric(model, options).measure(
      { input: 'q', output: 'a' } as never,
      undefined as never,
    );
    await expect(measuring).rejects.toThrow('takes two texts; it was given object and undefined');
    expect(model.calls).toHaveLength(0);
  });

  it('refuses options that it does not know and scales that are none', () => {
    expect(() => new JudgedMetric(model, { ...options, scal: 2 })).toThrow(
      /scal is unknown; did you mean scale/,
    );
    expect(() => new JudgedMetric(model, { ...options, scale: 0 })).toThrow('options.scale is 0');
  });
});

it.each(Object.entries(NEEDED))('%s refuses to be made without %s', (name, needed) => {
  const JudgedMetric = (legacy as unknown as Record<string, MetricClass>)[name] as MetricClass;
  expect(() => new JudgedMetric(model)).toThrow(`options.${needed} is missing`);
});

it('the other metrics need no options', () => {
  const others = judged.filter(([name]) => NEEDED[name] === undefined);
  expect(others.map(([, JudgedMetric]) => new JudgedMetric(model)).length).toBeGreaterThan(0);
});

it.each([
  new CompletenessMetric(),
  new ContentSimilarityMetric(),
  new KeywordCoverageMetric(),
  new TextualDifferenceMetric(),
])('$constructor.name refuses what is no text', async (metric) => {
  await expect(metric.measure('q', undefined as never)).rejects.toThrow('takes two texts');
});

it('every judged metric is measured here or in the recorded cases', () => {
  const measured = [...CASES.map(({ name }) => name), ...recordedCases('legacy').map(({ cls }) => cls)];
  expect(judged.map(([name]) => name).filter((name) => !measured.includes(name))).toEqual([]);
});

it.each(CASES)('$name measures a question and an answer', async ({ create, replies, score, info = {} }) => {
  const judge = scriptedModel([...replies.map((json) => ({ json })), { text: WHY }]);
  const measured = await create(judge).measure(QUESTION, ANSWER);
  expect(measured).toEqual({ score, info: { reason: WHY, ...info } });
  expect(judge.calls).toHaveLength(replies.length + 1);
});
