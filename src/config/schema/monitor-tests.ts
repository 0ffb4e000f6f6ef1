import { z } from 'zod';
import { duration, schemaAddress, wholeNumber } from './fields.ts';

const SECOND_MS = 1000;

const Segment = z
  .strictObject({
    for: duration('Length of the segment.', { minMs: SECOND_MS, minText: '1s' }),
    every: duration('Time between two scores.', { minMs: SECOND_MS, minText: '1s' }).default('5m'),
    scores: z
      .array(z.number().min(0).max(1))
      .describe('Directed scores (0 worst, 1 best), taken in turn; none: silence.'),
  })
  .describe('A stretch of scores.');

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
    at: duration('Time since the start at which the state is looked at. Absent: the end.').optional(),
    state: z
      .enum(['learning', 'ok', 'pending', 'firing', 'recovering', 'no_data'])
      .describe('The state at that time.')
      .optional(),
    firings: wholeNumber('How often the alert fired until that time.', {
      unit: 'firings',
      min: 0,
    }).optional(),
  })
  .refine(({ state, firings }) => state !== undefined || firings !== undefined, {
    error: 'expects nothing: give state, firings or both',
  });

const MonitorTest = z.strictObject({
  name: z
    .string()
    .min(1)
    .describe('Name of the test, as it is printed.')
    .meta({ examples: ['a drop of 5 %'] }),
  start: z.iso
    .datetime({ offset: true, error: 'write a date and time with its zone, like 2026-01-01T00:00:00Z' })
    .describe('When the series begin.')
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
    .describe('What is scored.'),
  expect: z.array(Expectation).min(1, { error: 'expects nothing' }).describe('What is to hold.'),
});

/** Schema of a file with expectations for monitor rules. */
export const monitorTestFileSchema = z
  .strictObject({
    $schema: schemaAddress,
    rules: z
      .array(z.string().min(1))
      .min(1)
      .describe('Monitor files, relative to this one, or patterns of them.'),
    tests: z.array(MonitorTest).min(1, { error: 'needs at least one test' }).describe('The tests.'),
  })
  .describe('Tests of monitors of spanscore.');

export type MonitorTest = z.infer<typeof MonitorTest>;
