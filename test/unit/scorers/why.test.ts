import { describe, expect, it } from 'vitest';
import { listUnexplained } from '../../../src/domain/score.ts';
import { createWhyScorer } from '../../../src/scorers/prebuilt/why.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { buildRun } from '../../support/builders/judged-cases.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';

const FINDINGS = [
  { statement: 'It is 18 degrees in Paris.', verdict: 'contradicted' },
  { statement: 'It will rain.', verdict: 'unsupported' },
];

describe('the reasons of a chat judge', () => {
  it('have a quote where the run holds it, and say where the judge disagrees', async () => {
    const verdicts = [
      { n: 2, quote: 'It will hail', reason: 'No source speaks of rain.', agrees: true },
      { n: 1, quote: 'it is 18 degrees', reason: 'The tool says so.', agrees: false },
    ];
    const model = scriptedModel([{ json: { verdicts } }]);
    const result = await createWhyScorer(model, FINDINGS).run(buildRun());
    expect(result).toMatchObject({ score: 0.5 });
    expect(result.verdicts).toEqual([
      {
        ...FINDINGS[0],
        reason: 'The chat judge disagrees: The tool says so.',
        quote: 'it is 18 degrees',
      },
      { ...FINDINGS[1], reason: 'No source speaks of rain.' },
    ]);
    const fenced = readFencedPrompt(model.calls[0]?.prompt ?? '');
    expect(JSON.parse(fenced?.json ?? '{}')).toMatchObject({ verdicts: { 1: FINDINGS[0], 2: FINDINGS[1] } });
  });

  it.each([
    [['supported', 'contradicted', 'refused'], 'hallucinated', ['contradicted']],
    [['true'], 'true', ['true']],
    [['supported'], 'grounded', []],
  ])('are asked for of the verdicts %j labelled %s: %j', (given, label, expected) => {
    const verdicts = given.map((verdict) => ({ statement: 's', verdict }));
    const judgeModel = 'openai/gpt-6-luna';
    expect(listUnexplained({ verdicts, judgeModel, label }).map(({ verdict }) => verdict)).toEqual(expected);
    const worded = verdicts.map((verdict) => ({ ...verdict, reason: 'so' }));
    expect(listUnexplained({ verdicts: worded, judgeModel, label })).toEqual([]);
    expect(listUnexplained({ verdicts, judgeModel: '', label })).toEqual([]);
  });
});
