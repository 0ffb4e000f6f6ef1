import { z } from 'zod';
import { duration, schemaAddress, wholeNumber } from './fields.ts';
import { SECOND_MS } from '../../domain/durations.ts';

const Segment = z
  .strictObject({
    for: duration('Length of the segment.', { minMs: SECOND_MS, minText: '1s' }),
    every: duration('Time between two scores.', { minMs: SECOND_MS, minText: '1s' }).default('5m'),
    scores: z
      .array(z.number().min(0).max(1))
      .describe('Directed scores (0 worst, 1 best), used in turn. []: a time without scores.'),
  })
  .describe('A period with equal spacing of scores.');

const Expectation = z
  .strictObject({
    alert: z
      .string()
      .min(1)
      .describe('Name of the alert.')
      .meta({ examples: ['GroundingDropped'] }),
    series: z
      .string()
      .min(1)
      .describe('Name of the series.')
      .meta({ examples: ['weather'] }),
    at: duration('Time since the start at which the state is checked. Absent: the end.').optional(),
    state: z
      .enum(['learning', 'ok', 'pending', 'firing', 'recovering', 'no_data'])
      .describe('The state at that time.')
      .optional(),
    firings: wholeNumber('Number of times that the alert fired until then.', {
      unit: 'firings',
      min: 0,
    }).optional(),
  })
  .refine(({ state, firings }) => state !== undefined || firings !== undefined, {
    error: 'has no expectation: give state, firings or both',
  });

const MonitorTest = z.strictObject({
  name: z
    .string()
    .min(1)
    .describe('Name of the test in the output.')
    .meta({ examples: ['a drop of 5 %'] }),
  start: z.iso
    .datetime({ offset: true, error: 'write a date and time with its zone, like 2026-01-01T00:00:00Z' })
    .describe('Start of the series.')
    .default('2026-01-01T00:00:00Z'),
  series: z
    .array(
      z.strictObject({
        name: z
          .string()
          .min(1)
          .describe('Name of the series.')
          .meta({ examples: ['weather'] }),
        segments: z.array(Segment).min(1, { error: 'needs at least one segment' }).describe('Its scores.'),
      }),
    )
    .min(1, { error: 'needs at least one series' })
    .describe('Series of scores for the test.'),
  expect: z
    .array(Expectation)
    .min(1, { error: 'needs at least one expectation' })
    .describe('Expectations of the test.'),
});

/** Schema of a file of tests for monitor rules. */
export const monitorTestFileSchema = z
  .strictObject({
    $schema: schemaAddress,
    rules: z
      .array(z.string().min(1))
      .min(1)
      .describe('Monitor files (paths relative to this file, or glob patterns).'),
    tests: z.array(MonitorTest).min(1, { error: 'needs at least one test' }).describe('The tests.'),
  })
  .describe('Tests of monitors of spanscore.');

export type MonitorTest = z.infer<typeof MonitorTest>;
