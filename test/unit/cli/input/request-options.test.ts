import { Command, CommanderError } from 'commander';
import { expect, it } from 'vitest';
import { NewBackfill } from '../../../../src/api/resources/backfills.ts';
import {
  collectConditions,
  addRequestOptions,
  nameOption,
  writeConditions,
  type WrittenConditions,
} from '../../../../src/cli/input/request-options.ts';

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

/** Returns the values of the options of a backfill on a line, or the fault that the line has. */
function parseLine(line: string): unknown {
  const command = addRequestOptions(new Command('backfill'), NewBackfill)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  try {
    return command.parse(line.split(' '), { from: 'user' }).opts();
  } catch (error) {
    return error instanceof CommanderError ? error.message : error;
  }
}

it.each([
  ['--from 7d --to 2026-11-21', { from: '7d', to: '2026-11-21' }],
  ['--rule a,b --rule c --scorer tone', { rule: ['a', 'b', 'c'], scorer: ['tone'] }],
  ['--where status=error --where not.agent=test', { where: { status: ['error'], not: { agent: ['test'] } } }],
  ['--sample 0.1 --judge-share 1 --concurrency 3', { sample: 0.1, judgeShare: 1, concurrency: 3 }],
  [
    '--rate 600/m --max-cost $2.50 --rescore --batch --dry-run',
    { rate: '600/m', maxCostUsd: 2.5, rescore: true, batch: true, dryRun: true },
  ],
  ['--max-cost 3usd', { maxCostUsd: 3 }],
])('fields of a request are options: %s', (line, expected) => {
  expect(parseLine(line)).toEqual(expected);
});

it.each([
  ['--from yesterday', /'--from <text>' .*Write a time before now/u],
  ['--rate 5/d', /50\/s/u],
  ['--sample 0', /Must be above 0/u],
  ['--sample 1.1', /Must be at most 1/u],
  ['--sample half', /Write a number/u],
  ['--max-cost 0', /Must be above 0/u],
  ['--concurrency 1001', /at most 1000/u],
])('a value that the request refuses is wrong usage of the option: %s', (line, fault) => {
  expect(parseLine(line)).toMatch(fault);
});

it('the help of an option is what the request says of its field', () => {
  const { options } = addRequestOptions(new Command('x'), NewBackfill, { from: 'when' });
  expect(options.slice(0, 2).map(({ flags, description }) => [flags, description])).toEqual([
    ['--from <when>', 'traces that began since 7d, or a date and time (required)'],
    ['--to <text>', 'traces that began before this time; default: now'],
  ]);
  expect(nameOption('maxCostUsd')).toBe('--max-cost');
  expect(nameOption('where.status')).toBe('--where status');
});
