import { describe, expect, it } from 'vitest';
import * as legacy from '../../../../src/scorers/legacy/index.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';

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
