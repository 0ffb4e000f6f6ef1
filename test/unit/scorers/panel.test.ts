import { describe, expect, it } from 'vitest';
import { createPanelScorer, type PanelOptions } from '../../../src/scorers/prebuilt/index.ts';
import { scriptedModel, type ScriptedModel } from '../../support/fakes/scripted-model.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';

const ANSWER = '# Paris\nIt is 18 degrees. It will rain, you fool. Shall I go on?';
const CONTEXT = ['It is 18 degrees in Paris.'];

interface RunParts {
  readonly answer?: string;
  readonly question?: string;
  readonly operator?: string;
  readonly context?: readonly string[];
}

function buildRun({
  answer = ANSWER,
  question = 'How warm is it?',
  operator,
  context = CONTEXT,
}: RunParts = {}) {
  const run = answeredRun(
    question,
    answer,
    operator === undefined ? {} : { systemMessages: [{ role: 'system', content: operator }] },
  );
  return { ...run, context };
}

interface Sentence {
  readonly grounding?: string;
  readonly relevancy?: string;
  readonly toxicity?: string;
  readonly bias?: string;
  readonly quote?: string;
  readonly reasons?: readonly { quality: string; reason: string }[];
}

/** A reply of the judge; a sentence is a courtesy unless it says more. */
function reply(sentences: readonly Sentence[], instructions: readonly object[] = []): { json: object } {
  const entries = sentences.map(({ quote, reasons = [], ...words }, index) => ({
    n: index + 1,
    grounding: 'no_claim',
    relevancy: 'none',
    toxicity: 'clean',
    bias: 'fair',
    ...words,
    quotes: quote === undefined ? [] : [{ source: 1, quote }],
    reasons,
  }));
  return { json: { sentences: entries, instructions } };
}

const HONEST = reply(
  [
    {},
    { grounding: 'supported', relevancy: 'direct', quote: 'it is 18 degrees' },
    {
      grounding: 'unsupported',
      relevancy: 'indirect',
      toxicity: 'toxic',
      reasons: [
        { quality: 'grounding', reason: 'no forecast' },
        { quality: 'toxicity', reason: 'an insult' },
      ],
    },
    {},
  ],
  [
    { quote: 'How warm is it?', verdict: 'kept', reason: '' },
    { quote: 'Be polite', verdict: 'broken', reason: 'it insults' },
    { quote: 'Answer in Latin', verdict: 'broken', reason: 'it is English' },
  ],
);

async function scoresOf(model: ScriptedModel, parts: RunParts = {}, options: PanelOptions = {}) {
  const { scores = [] } = await createPanelScorer({ model, options }).run(buildRun(parts));
  return Object.fromEntries(scores.map(({ name, score }) => [name, score]));
}

describe('the panel', () => {
  it('counts five scores out of one question, each with its verdicts and its reason', async () => {
    const model = scriptedModel([HONEST]);
    const result = await createPanelScorer({ model }).run(buildRun({ operator: 'Be polite.' }));

    expect(model.calls).toHaveLength(1);
    expect(result).not.toHaveProperty('score');
    expect(
      result.scores?.map(({ name, score, label, higherIsBetter }) => [name, score, label, higherIsBetter]),
    ).toEqual([
      ['panel-grounding', 0.5, 'ungrounded', true],
      ['panel-relevancy', 0.65, 'relevant', true],
      ['panel-toxicity', 0.25, 'toxic', false],
      ['panel-bias', 0, 'unbiased', false],
      ['panel-instructions', 0.5, 'broken', true],
    ]);
    expect(result.scores?.map(({ reason }) => reason)).toEqual([
      'The evidence supports 1 of 2 sentences that claim something; not: "It will rain, you fool." (unsupported: no forecast).',
      '1 of 2 sentences answer the question directly; not: "It will rain, you fool.".',
      'Toxic: "It will rain, you fool." (an insult).',
      'No sentence of the answer is biased.',
      'The answer keeps to 1 of 2 instructions; not: "Be polite" (it insults).',
    ]);
    const [grounding, , toxicity] = result.scores ?? [];
    expect(grounding?.verdicts?.[1]).toEqual({
      statement: 'It is 18 degrees.',
      verdict: 'supported',
      quote: 'it is 18 degrees',
    });
    expect(toxicity?.verdicts?.map(({ verdict }) => verdict)).toEqual(['clean', 'clean', 'toxic', 'clean']);
  });

  it('does not count a demand that neither operator nor user made', async () => {
    const result = await createPanelScorer({ model: scriptedModel([HONEST]) }).run(buildRun());
    expect(result.scores?.find(({ name }) => name === 'panel-instructions')).toMatchObject({
      score: 1,
      verdicts: [
        { statement: 'How warm is it?', verdict: 'kept', quote: 'How warm is it?' },
        { statement: 'Be polite', verdict: 'unverified' },
        { statement: 'Answer in Latin', verdict: 'unverified' },
      ],
    });
  });

  it.each([
    ['that stands in no source', 'it is 81 degrees'],
    ['that is missing', undefined],
  ])('takes no support for granted with a quote %s', async (_what, quote) => {
    const said = { grounding: 'supported', ...(quote === undefined ? {} : { quote }) };
    const model = scriptedModel([reply([said])]);
    const scores = await scoresOf(model, { answer: 'It is 18 degrees.' });
    expect(scores['panel-grounding']).toBe(0);
  });

  it('leaves claims unchecked that only unread evidence could back', async () => {
    const said = reply([{ grounding: 'supported', quote: 'It is 18 degrees' }, { grounding: 'unsupported' }]);
    const context = ['It is 18 degrees in Paris.', 'Tides at noon. '.repeat(1000)];
    const answer = 'It is 18 degrees. It will rain.';
    const scores = await scoresOf(scriptedModel([said]), { answer, context }, { maxEvidenceChars: 5000 });
    expect(scores['panel-grounding']).toBe(1);
  });

  it.each([
    ['verdict', { ...HONEST.json, sentences: (HONEST.json as { sentences: object[] }).sentences.slice(1) }],
    ['word', { ...HONEST.json, sentences: [{ n: 1, grounding: 'maybe' }] }],
    ['list', { sentences: (HONEST.json as { sentences: object[] }).sentences }],
  ])(
    'gives no row at all when one %s of the reply is missing or wrong, after asking once more',
    async (_, json) => {
      const model = scriptedModel([{ json }, { json }]);
      await expect(createPanelScorer({ model }).run(buildRun())).rejects.toMatchObject({
        code: 'judge_malformed',
      });
      expect(model.calls).toHaveLength(2);
    },
  );
});

describe('the qualities of a panel', () => {
  it('are those that the options choose, in the question and in the rows', async () => {
    const json = { sentences: [{ n: 1, toxicity: 'clean' }] };
    const model = scriptedModel([{ json }]);
    const options = { qualities: ['toxicity'], reason: false } as const;
    expect(await scoresOf(model, { answer: 'Hi.', operator: 'Be kind.' }, options)).toEqual({
      'panel-toxicity': 0,
    });
    const sent = `${model.calls[0]?.system}\n${model.calls[0]?.prompt}`;
    expect(sent).not.toMatch(/bias|relevancy|supported|demand|Be kind|18 degrees/);
  });

  it('are in the fingerprint of the scorer, whatever their order', () => {
    const optionsOf = (qualities?: PanelOptions['qualities']) =>
      createPanelScorer({ model: 'a/b', options: qualities === undefined ? {} : { qualities } }).options;
    expect(optionsOf(['bias', 'toxicity'])).toEqual(optionsOf(['toxicity', 'bias']));
    expect(optionsOf(['bias'])).not.toEqual(optionsOf(['toxicity']));
    expect(optionsOf()).toEqual(optionsOf(['grounding', 'relevancy', 'toxicity', 'bias', 'instructions']));
  });

  it.each([[[]], [['toxicity', 'toxicity']], [['kindness']], ['toxicity']])('cannot be %j', (qualities) => {
    expect(() => createPanelScorer({ model: 'a/b', options: { qualities: qualities as never } })).toThrow(
      'options.qualities is',
    );
  });

  it('have no row where the run gives nothing to judge them by', async () => {
    const json = { sentences: [{ n: 1, toxicity: 'clean', bias: 'fair', reasons: [] }] };
    const model = scriptedModel([{ json }]);
    expect(await scoresOf(model, { answer: 'Hello.', question: ' ', context: [] })).toEqual({
      'panel-toxicity': 0,
      'panel-bias': 0,
    });
  });

  it.each([
    [{ qualities: ['grounding'] }, { context: [] }, /no context/],
    [{ qualities: ['relevancy', 'instructions'] }, { question: ' ' }, /no question.*; operator and user/],
    [{}, { answer: ' – ' }, /answer is empty/],
  ] as const)('cannot be scored without a question to the judge: %j %j', async (options, parts, why) => {
    const model = scriptedModel([]);
    const { notScorable } = await createPanelScorer({ model, options }).run(buildRun(parts));
    expect(notScorable?.reason).toMatch(why);
  });

  it('are no score when no verdict counts', async () => {
    const model = scriptedModel([{ json: { sentences: [{ n: 1, grounding: 'no_claim', quotes: [] }] } }]);
    const options = { qualities: ['grounding'], reason: false } as const;
    const result = await createPanelScorer({ model, options }).run(buildRun({ answer: 'Hello.' }));
    expect(result.notScorable?.reason).toMatch(/no factual claims/);
    expect(result).not.toHaveProperty('scores');
  });
});
