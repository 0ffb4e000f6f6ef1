import { describe, expect, it } from 'vitest';
import { createGroundingScorer } from '../../../src/scorers/prebuilt/index.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { scriptedModel, type ScriptedModelReply } from '../../support/fakes/scripted-model.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';

interface Judged {
  verdict: string;
  quotes?: [number, string][];
  reason?: string;
}

function buildRun(answer: string, context: readonly string[], question = 'How is it?') {
  const run = answeredRun(question, answer);
  return { ...run, context };
}

function reply(...judged: Judged[]): ScriptedModelReply {
  const verdicts = judged.map(({ verdict, quotes = [], reason = '' }, index) => ({
    n: index + 1,
    verdict,
    quotes: quotes.map(([source, quote]) => ({ source, quote, absence: quote === '' })),
    reason,
  }));
  return { json: { verdicts } };
}

const WEATHER = ['It is 18 degrees in Paris. Wind: 5 km/h.'];
const ANSWER = 'It is 18 degrees. The wind is strong. It will rain. Enjoy your day!';

describe('the grounding scorer', () => {
  it('counts three scores out of one question, and renders the reason from the verdicts', async () => {
    const model = scriptedModel([
      reply(
        { verdict: 'supported', quotes: [[1, 'It is 18 degrees in Paris']] },
        { verdict: 'contradicted', quotes: [[1, 'Wind: 5 km/h']], reason: '5 km/h is weak' },
        { verdict: 'unsupported', reason: 'no forecast' },
        { verdict: 'no_claim' },
      ),
    ]);
    const result = await createGroundingScorer({ model }).run(buildRun(ANSWER, WEATHER));

    expect(model.calls).toHaveLength(1);
    expect(result).not.toHaveProperty('score');
    expect(result.scores?.map(({ name, score, label }) => [name, score, label])).toEqual([
      ['grounding-hallucination', 0.67, 'hallucinated'],
      ['grounding-faithfulness', 0.33, 'unfaithful'],
      ['grounding-citation-precision', 1, 'precise'],
    ]);
    expect(result.reason).toBe(
      'The evidence supports 1 of 3 sentences that claim something; not: "The wind is strong." (contradicted: 5 km/h is weak); "It will rain." (unsupported: no forecast).',
    );
    expect(result.scores?.[0]).toMatchObject({ reason: result.reason, verdicts: result.verdicts });
    expect(result.verdicts?.[0]).toEqual({
      statement: 'It is 18 degrees.',
      verdict: 'supported',
      quote: 'It is 18 degrees in Paris',
    });
  });

  it.each([
    ['that stands in no source', [[1, 'all is well']], 0],
    ['of one word out of another source than it names', [[2, '18']], 0],
    ['without a quote', [], undefined],
  ] as [string, [number, string][], number | undefined][])(
    'takes no support for granted with a quote %s',
    async (_what, quotes, precision) => {
      const model = scriptedModel([reply({ verdict: 'supported', quotes })]);
      const result = await createGroundingScorer({ model }).run(
        buildRun('It is 18 degrees.', [...WEATHER, 'Tides at noon.']),
      );
      const scores = Object.fromEntries((result.scores ?? []).map(({ name, score }) => [name, score]));
      expect(scores['grounding-faithfulness']).toBe(0);
      expect(scores['grounding-hallucination']).toBe(1);
      expect(scores['grounding-citation-precision']).toBe(precision);
    },
  );

  it('asks no judge when the answer has no claims', async () => {
    const model = scriptedModel([]);
    const scorer = createGroundingScorer({ model });
    const silent = await scorer.run(buildRun('', WEATHER));
    expect(silent.notScorable?.reason).toBe('the answer makes no factual claims');
    const blind = await scorer.run(buildRun('It is 18 degrees.', []));
    expect(blind.notScorable?.reason).toMatch(/no context/);
    expect(blind).not.toHaveProperty('scores');
    expect(model.calls).toHaveLength(0);
  });

  it('has no score when the answer has no claims', async () => {
    const model = scriptedModel([reply({ verdict: 'no_claim' })]);
    const result = await createGroundingScorer({ model }).run(buildRun('Enjoy your day!', WEATHER));
    expect(result.notScorable?.reason).toBe('the answer makes no factual claims');
  });

  it('takes a long quote from another source than it names, and counts it with that source', async () => {
    const model = scriptedModel([
      reply({ verdict: 'supported', quotes: [[2, 'It is 18 degrees in Paris']] }),
    ]);
    const result = await createGroundingScorer({ model }).run(
      buildRun('It is 18 degrees.', [...WEATHER, 'Tides at noon.']),
    );
    expect(result.scores?.[0]).toMatchObject({ name: 'grounding-hallucination', score: 0 });
  });

  it.each([
    ['supported', [[1, '']], 0],
    ['supported', [[7, '']], 1],
    ['contradicted', [[1, 'Wind: 5 km/h']], 1],
  ] as [string, [number, string][], number][])(
    'takes a whole source for the absence of something, when that source exists: %s by %j',
    async (said, quotes, score) => {
      const model = scriptedModel([reply({ verdict: said, quotes })]);
      const result = await createGroundingScorer({ model }).run(
        buildRun('The report names no temperature for Rome.', WEATHER),
      );
      expect(result.scores?.[0]?.score).toBe(score);
    },
  );

  it('counts a contradiction without a quote as unsupported', async () => {
    const model = scriptedModel([reply({ verdict: 'contradicted' })]);
    const result = await createGroundingScorer({ model }).run(buildRun('It is 30 degrees.', WEATHER));
    expect(result.verdicts).toMatchObject([{ verdict: 'unsupported', reason: 'no quote was given' }]);
  });
});

describe('evidence that is too long for one question', () => {
  const filler = (topic: string, chars: number) =>
    `${topic} is described here at length and in detail. `.repeat(Math.ceil(chars / 50)).slice(0, chars);
  const long = [
    filler('Gardening', 30_000),
    `${filler('Music', 9000)} The tower is 330 metres tall. ${filler('Sport', 30_000)}`,
  ];

  it('is cut to the passages that matter, and costs one question where they do', async () => {
    const model = scriptedModel([
      reply({ verdict: 'supported', quotes: [[2, 'The tower is 330 metres tall']] }),
    ]);
    const scorer = createGroundingScorer({ model, options: { maxEvidenceChars: 12_000 } });
    const result = await scorer.run(buildRun('The tower is 330 metres tall.', long));
    expect(result.scores?.[0]?.score).toBe(0);
    expect(model.calls).toHaveLength(1);
    expect(model.calls[0]?.prompt).toContain('The tower is 330 metres tall. Sport');
    expect(readFencedPrompt(model.calls[0]?.prompt ?? '')?.json.length).toBeLessThan(13_000);
  });

  it('is read to its end before a sentence counts as unsupported', async () => {
    const hidden = [...long, `${filler('Cooking', 8000)} Its height: three hundred and thirty m.`];
    const model = scriptedModel([
      reply({ verdict: 'unsupported', reason: 'not there' }),
      reply({ verdict: 'supported', quotes: [[3, 'Its height: three hundred and thirty m']] }),
    ]);
    const scorer = createGroundingScorer({ model, options: { maxEvidenceChars: 20_000 } });
    const result = await scorer.run(buildRun('The tower is 330 metres tall.', hidden));
    expect(model.calls).toHaveLength(2);
    expect(model.calls[1]?.prompt).toContain('Its height: three hundred and thirty m');
    expect(result.scores?.[0]).toMatchObject({ name: 'grounding-hallucination', score: 0 });
  });

  it('does not check a sentence that was not compared with all evidence', async () => {
    const endless = Array.from({ length: 40 }, (_, index) => filler(`Topic ${index}`, 10_000));
    const model = scriptedModel([
      reply({ verdict: 'unsupported' }, { verdict: 'supported', quotes: [[1, 'Topic 0 is described here']] }),
      reply({ verdict: 'unsupported' }),
    ]);
    const scorer = createGroundingScorer({ model, options: { maxEvidenceChars: 20_000 } });
    const result = await scorer.run(buildRun('The tower is tall. Topic 0 is described.', endless));
    expect(result.scores?.map(({ name, score }) => [name, score])).toEqual([
      ['grounding-hallucination', 0],
      ['grounding-faithfulness', 1],
      ['grounding-citation-precision', 1],
    ]);
    expect(result.reason).toMatch(/1 sentence was left out/);
  });

  it('is ranked by pairs of characters where words have no spaces between them', async () => {
    const filler20 = Array.from(
      { length: 20 },
      (_, index) => `${'港の倉庫には荷物がたくさんあります。'.repeat(220)}${index}`,
    );
    const needle = '灯台には階段が二百十四段あります。';
    const model = scriptedModel([reply({ verdict: 'supported', quotes: [[20, needle]] })]);
    const scorer = createGroundingScorer({ model, options: { maxEvidenceChars: 12_000 } });
    await scorer.run(
      buildRun('灯台の階段は二百十四段です。', [...filler20.slice(1), `${filler20[0]}${needle}`]),
    );
    expect(model.calls[0]?.prompt).toContain(needle);
  });

  it('is shown without encoded files', async () => {
    const model = scriptedModel([reply({ verdict: 'unsupported' })]);
    await createGroundingScorer({ model }).run(
      buildRun('It is a cat.', [`image: data:image/png;base64,${'iVBORw0KGgo'.repeat(100)}==`]),
    );
    expect(model.calls[0]?.prompt).toContain('image: [image/png, 825 B]');
    expect(model.calls[0]?.prompt).not.toContain('iVBORw0KGgo');
  });
});
