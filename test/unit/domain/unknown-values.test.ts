import { expect, it } from 'vitest';
import { isObject, isRecord, textOrJson, textOrUndefined } from '../../../src/domain/unknown-values.ts';

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
