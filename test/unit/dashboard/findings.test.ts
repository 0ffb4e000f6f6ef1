import { describe, expect, it } from 'vitest';
import {
  buildFindings,
  claimsOf,
  findEvidence,
  placeQuotes,
  verdictSign,
} from '../../../src/dashboard/view-models/findings.ts';
import { aScoreItem, aSpanItem, aTrace, TOOL_SPAN } from '../../support/dashboard/reply-builders.ts';

describe('findings', () => {
  it('begin with the scores that have claims', () => {
    const bare = aScoreItem({ scoreId: 'bare', scorer: 'toxicity' });

    const groups = buildFindings([bare, ...aTrace().scores]);

    expect(groups.map(({ score, claims }) => [score.scorer, claims.length])).toEqual([
      ['hallucination', 2],
      ['toxicity', 0],
    ]);
  });

  it('lead from a span to the claims that cite it', () => {
    const groups = buildFindings(aTrace().scores);

    expect(claimsOf(groups, TOOL_SPAN).map(({ statement }) => statement)).toEqual([
      'It is 18 degrees.',
      'The sky is sunny.',
    ]);
    expect(claimsOf(groups, 'f'.repeat(16))).toEqual([]);
  });

  it.each([
    ['"sky":"rain"', 'tool-results', TOOL_SPAN],
    ['"sky":"rain"', undefined, TOOL_SPAN],
    ['"sky":"rain"', 'user', undefined],
    ['no tool said this', 'tool-results', undefined],
    ['', 'tool-results', undefined],
  ])('find the step of the quote %j of %s: %s', (quote, source, spanId) => {
    const verdict = {
      statement: 's',
      verdict: 'contradicted',
      quote,
      ...(source === undefined ? {} : { source }),
    };
    const placed = placeQuotes({ ...aTrace(), scores: [aScoreItem({ verdicts: [verdict] })] });
    expect(placed.scores[0]?.verdicts[0]?.spanId).toBe(spanId);
  });

  it.each([
    ['tool-results', 'a tool call'],
    [undefined, ''],
  ])('name the evidence of the kind %s: %j', (source, words) => {
    const verdicts = [{ statement: 's', verdict: 'supported', ...(source === undefined ? {} : { source }) }];
    expect(buildFindings([aScoreItem({ verdicts })])[0]?.claims[0]?.source).toBe(words);
  });

  it.each([
    [0.834, '83 %'],
    [undefined, ''],
  ])('write the probability %s of a verdict as %j', (probability, written) => {
    const verdicts = [
      { statement: 's', verdict: 'supported', ...(probability === undefined ? {} : { probability }) },
    ];
    expect(buildFindings([aScoreItem({ verdicts })])[0]?.claims[0]?.probability).toBe(written);
  });

  it.each([
    ['supported', '✓'],
    ['CONTRADICTED', '✗'],
    ['not fulfilled', '✗'],
    ['yes', '?'],
    ['no_claim', '?'],
  ])('mark the verdict %s with %s: a word alone does not say what is good', (verdict, sign) => {
    expect(verdictSign(verdict).sign).toBe(sign);
  });
});

describe('the evidence of a claim', () => {
  it('is the text of the span around the quote', () => {
    const span = aSpanItem({ attributes: { a: 'nothing', result: '{"sky":"rain"}' } });

    expect(findEvidence('"rain"', span)).toEqual({
      place: 'attribute result',
      before: '{"sky":',
      quote: '"rain"',
      after: '}',
    });
  });

  it('is found where the span has the quote escaped as JSON', () => {
    const span = aSpanItem({ attributes: { result: String.raw`["say \"hi\"\nnow"]` } });

    expect(findEvidence('say "hi"\nnow', span)?.quote).toBe(String.raw`say \"hi\"\nnow`);
  });

  it('is found in the events of a span', () => {
    const events = [{ name: 'gen_ai.tool.message', at: null, attributes: { content: 'it rains' } }];

    expect(findEvidence('rains', aSpanItem({ events }))?.place).toBe('event gen_ai.tool.message, content');
  });

  it('is cut to the surroundings of the quote', () => {
    const span = aSpanItem({ attributes: { result: `${'a'.repeat(1_000)}HERE${'b'.repeat(1_000)}` } });

    const evidence = findEvidence('HERE', span);

    expect(evidence?.before).toBe(`…${'a'.repeat(400)}`);
    expect(evidence?.after).toBe(`${'b'.repeat(400)}…`);
  });

  it('is not known without a quote, and for a quote that the span does not have', () => {
    expect(findEvidence('', aSpanItem())).toBeUndefined();
    expect(findEvidence('elsewhere', aSpanItem())).toBeUndefined();
  });
});
