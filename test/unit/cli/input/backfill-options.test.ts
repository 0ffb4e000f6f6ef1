import { expect, it } from 'vitest';
import { parseRatePerSecond } from '../../../../src/config/index.ts';
import {
  collectConditions,
  parseRate,
  parseShare,
  parseUsd,
  writeConditions,
  type WrittenConditions,
} from '../../../../src/cli/input/backfill-options.ts';

it('conditions of the command line are written as in a rule', () => {
  const given = [
    'service=shop',
    'service=bank',
    'status=error',
    'attributes.user.tier=gold',
    'duration.min=5s',
    'not.agent=test',
    'not.attributes.a.b=x=y',
  ];
  const collected = given.reduce<WrittenConditions>((sum, text) => collectConditions(text, sum), {});
  expect(writeConditions(collected)).toEqual({
    service: ['shop', 'bank'],
    status: 'error',
    attributes: { 'user.tier': 'gold' },
    duration: { min: '5s' },
    not: { agent: 'test', attributes: { 'a.b': 'x=y' } },
  });
  expect(() => collectConditions('service')).toThrow('Write a name and a value');
});

it.each([
  ['50/s', 50],
  ['600/m', 10],
  ['1800/h', 0.5],
  ['7', 7],
])('a rate of %s is %d traces a second', (text, rate) => {
  expect(parseRatePerSecond(parseRate(text))).toBe(rate);
});

it.each(['', '0/s', '-1/s', '5/d', 'fast'])('%j is no rate', (text) => {
  expect(() => parseRate(text)).toThrow('50/s');
});

it('shares and amounts of money have their limits', () => {
  expect([parseShare('0.1'), parseShare('1'), parseUsd('5'), parseUsd('$2.50'), parseUsd('3usd')]).toEqual([
    0.1, 1, 5, 2.5, 3,
  ]);
  for (const text of ['0', '1.1', '-1']) {
    expect(() => parseShare(text)).toThrow('above 0');
  }
  expect(() => parseUsd('0')).toThrow('above 0');
});
