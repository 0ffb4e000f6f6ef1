import { describe, expect, it } from 'vitest';
import { cutText } from '../../../src/domain/cut-text.ts';
import { allBegin, formatAbout, formatAll, formatCount, formatPart } from '../../../src/domain/plural.ts';
import { nearest } from '../../../src/domain/nearest.ts';
import { isObject, isRecord, textOrJson, textOrUndefined } from '../../../src/domain/unknown-values.ts';

describe('cutText', () => {
  it('leaves a text that fits as it is', () => {
    expect(cutText('four', 4)).toBe('four');
  });

  it('ends a cut text with an ellipsis, within the limit', () => {
    expect(cutText('fives', 4)).toBe('fiv…');
  });

  it('leaves no half of a surrogate pair', () => {
    expect(cutText('ab😀cd', 4)).toBe('ab\uFFFD…');
  });
});

describe('a number with its noun', () => {
  it.each([
    [formatCount(1, 'trace'), '1 trace'],
    [formatCount(0, 'trace'), '0 traces'],
    [formatCount(2, 'retry', 'retries'), '2 retries'],
    [formatAbout(0.7, 'trace'), 'less than 1 trace'],
    [formatAbout(1.2, 'trace'), 'about 1 trace'],
    [formatAbout(21.4, 'trace'), 'about 21 traces'],
    [formatAbout(0, 'trace'), '0 traces'],
    [formatPart(1, 1, 'claim'), '1 of 1 claim'],
    [formatPart(1, 3, 'claim'), '1 of 3 claims'],
    [formatAll(1, 'claim'), 'the only claim'],
    [formatAll(3, 'claim'), 'all 3 claims'],
    [allBegin(1, 'step', ['was', 'were']), 'The only step was'],
    [allBegin(2, 'step', ['was', 'were']), 'All 2 steps were'],
  ])('reads well: %s', (text, expected) => {
    expect(text).toBe(expected);
  });
});

describe('nearest', () => {
  it.each([
    ['receivres', 'receivers'],
    ['Reciever', 'receivers'],
    ['hallucinations', 'hallucination'],
    ['xyz', undefined],
  ])('finds what %s meant', (word, expected) => {
    expect(nearest(word, ['receivers', 'rules', 'hallucination'])).toBe(expected);
  });
});

it.each([
  { value: { a: 1 }, object: true, record: true },
  { value: [1], object: true, record: false },
  { value: null, object: false, record: false },
  { value: 'text', object: false, record: false },
])('$value: an object is $object, a record is $record', ({ value, object, record }) => {
  expect(isObject(value)).toBe(object);
  expect(isRecord(value)).toBe(record);
});

it('takes a text as it is, and any other value as JSON or as missing', () => {
  expect([textOrJson('a'), textOrJson({ a: 1 }), textOrJson(undefined)]).toEqual(['a', '{"a":1}', '']);
  expect([textOrUndefined('a'), textOrUndefined(''), textOrUndefined(1)]).toEqual([
    'a',
    undefined,
    undefined,
  ]);
});
