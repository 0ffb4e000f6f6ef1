import { z } from 'zod';
import { type Measure, nameMeasure } from '../../domain/behaviour/measures.ts';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { findTemplateFault, ALERT_LABELS, SPLIT_FACETS } from '../../domain/series-facets.ts';
import { parseDurationMs } from '../units.ts';
import { duration, schemaAddress, wholeNumber, words } from './fields.ts';

/** Bounds of detectable silence: a series that was silent for longer is forgotten. */
const SILENCE = { min: '1m', max: '30d' };

const name = z.string().min(1, { error: 'write at least one character' });

/** Schema of the scores of a series. An absent key splits: one series for each value. */
const SeriesSelector = z.strictObject({
  scorer: words(
    'Name of the scorer. The name of a scorer that writes several rows means each of them.',
    'grounding',
  ).optional(),
  agent: z
    .string()
    .describe('Name of the agent.')
    .meta({ examples: ['weather'] })
    .optional(),
  environment: z
    .string()
    .describe('Deployment environment.')
    .meta({ examples: ['production'] })
    .optional(),
  target: z
    .enum(TARGET_KINDS)
    .describe('What the scores are about: whole runs, agents, model calls or sessions.')
    .meta({ examples: ['trace'] })
    .optional(),
});

const reference = z
  .strictObject({
    days: z
      .number()
      .min(1)
      .max(90)
      .describe('Days from the start of the series.')
      .meta({ unit: 'days' })
      .default(14),
    minScores: wholeNumber('Least number of scores in these days.', { unit: 'scores', min: 30 }).default(300),
    minDays: wholeNumber('Least number of distinct days (UTC) with scores.', { unit: 'days' }).default(3),
  })
  .describe(
    'The first scores of a series. They define its baseline. The state is learning until all three limits are reached.',
  )
  .prefault({});

const common = {
  alert: z
    .string()
    .min(1)
    .max(200)
    .describe('Name of the alert. Must be unique.')
    .meta({ examples: ['GroundingDropped'] }),
  series: SeriesSelector.describe(
    'Scores that the rule reads. A missing key: one series for each value.',
  ).prefault({}),
  for: duration('Time that the condition must hold before the alert fires.').default('0s'),
  keepFiringFor: duration('Time that the condition must be false before the alert ends.').default('0s'),
  noDataAfter: duration('Time without scores after which a series has no data.', SILENCE).default('24h'),
  requires: z
    .enum(['certified'])
    .describe(
      'certified: the alert is sent only while labels of people certify the judge; else the page alone shows it.',
    )
    .optional(),
  paused: z.boolean().describe('true: the rule reads no scores and sends no alerts.').default(false),
  labels: z.record(name, z.string()).describe('Labels of the alert, like severity: page.').default({}),
  annotations: z
    .record(name, z.string())
    .describe(
      'Annotations of the alert, like runbook_url. {{ $labels.agent }} (and other labels) and {{ $value }} are filled in.',
    )
    .default({}),
};

/** Keys of detectors of scores only: failures of scorers are known by agent and environment only. */
const split = {
  by: z
    .array(z.enum(SPLIT_FACETS))
    .refine((facets) => new Set(facets).size === facets.length, { error: 'lists a name twice; remove one' })
    .describe(
      'Keys that split a series: one series for each value, or pair of values, with enough scores (minDailyScores).',
    )
    .default([]),
  facets: z
    .array(z.string().min(1).max(200))
    .max(20)
    .describe(
      'Attributes of spans or resources, like customer.tier: kept with each new run, and searched for the cause of an alert.',
    )
    .default([]),
  minDailyScores: wholeNumber('Scores on one day (UTC) from which a value of by gets its own series.', {
    unit: 'scores a day',
  }).default(20),
};

/** Field for a number strictly between 0 and 1; at the ends there is nothing to detect. */
function share(description: string, unit = 'share') {
  return z
    .number()
    .gt(0, { error: 'must be above 0' })
    .lt(1, { error: 'must be below 1' })
    .describe(description)
    .meta({ unit });
}

function unitInterval(description: string) {
  return share(`${description} In directed score: 0 is worst, 1 best.`, 'score');
}

function tolerance(byDefault: number) {
  return z
    .number()
    .min(0)
    .lt(1, { error: 'must be below 1' })
    .describe('The smallest change that matters, in directed score.')
    .meta({ unit: 'score' })
    .default(byDefault);
}

/** Schema of one rule, by its detector. */
const MonitorRule = z.discriminatedUnion('detector', [
  z.strictObject({
    detector: z.literal('drift').describe('The mean left the range of the baseline.'),
    ...common,
    ...split,
    tolerance: tolerance(0.02),
    reference,
    direction: z
      .enum(['down', 'up', 'both'])
      .describe('down: worse, up: better, or both. With both, the two share the budget of false alarms.')
      .default('down'),
  }),
  z.strictObject({
    detector: z.literal('floor').describe('The mean stays at or above a minimum.'),
    ...common,
    ...split,
    minimum: unitInterval('Lowest mean that is allowed.'),
  }),
  z.strictObject({
    detector: z.literal('rate').describe('The share of scores below a line stays within a limit.'),
    ...common,
    ...split,
    below: z
      .number()
      .gt(0)
      .max(1)
      .describe('The line, in directed score: 0 is worst, 1 best.')
      .meta({ unit: 'score' }),
    maxRate: share('Largest share of scores below the line.'),
  }),
  z.strictObject({
    detector: z
      .literal('distribution')
      .describe('The distribution of the scores changed, even with an equal mean.'),
    ...common,
    ...split,
    tolerance: tolerance(0.03),
    reference,
  }),
  z
    .strictObject({
      detector: z
        .literal('threshold')
        .describe('The mean of a sliding window falls below a line; false alarms are not limited.'),
      ...common,
      ...split,
      minimum: unitInterval('The alert fires below this mean.'),
      recovery: unitInterval('The alert ends at or above this mean. Absent: minimum.').optional(),
      window: duration('Length of the window, at least the interval of the group.', {
        min: '1m',
        max: '7d',
      }).default('1h'),
      minScores: wholeNumber('Least number of scores in the window. With fewer, the state does not change.', {
        unit: 'scores',
      }).default(20),
    })
    .refine(({ minimum, recovery = minimum }) => recovery >= minimum, {
      path: ['recovery'],
      error: 'must be at least minimum',
    }),
  z.strictObject({
    detector: z.literal('no_data').describe('A series has no new scores.'),
    ...common,
    after: duration('Time without scores, at least the interval of the group.', SILENCE).default('6h'),
  }),
  z.strictObject({
    detector: z
      .literal('scorer_errors')
      .describe('The share of failed attempts of a scorer stays within a limit.'),
    ...common,
    maxRate: share('Largest share of failed attempts.').default(0.05),
  }),
  z.strictObject({
    detector: z
      .literal('coverage')
      .describe('The share of targets with a score stays at or above a minimum.'),
    ...common,
    minimum: share('Smallest share of targets with a score.').default(0.9),
  }),
]);

const MonitorGroup = z
  .strictObject({
    name: words('Name of the group.', 'quality'),
    interval: duration('Time between two checks, and length of a bucket of scores. It must divide an hour.', {
      min: '1m',
    })
      .refine((text) => dividesAnHour(text), {
        error: 'must divide an hour: 1m, 5m, 10m, 15m, 20m, 30m, 60m',
      })
      .default('5m'),
    falseAlarmBudget: z
      .number()
      .gt(0, { error: 'must be above 0' })
      .describe('False alarms that are acceptable in 30 days, over all series of the group.')
      .meta({ unit: 'alerts in 30 days' })
      .default(1),
    rules: z.array(MonitorRule).min(1, { error: 'needs at least one rule' }).describe('The rules.'),
  })
  .superRefine(({ interval, rules }, context) => {
    const intervalMs = parseDurationMs(interval) ?? 0;
    for (const [index, rule] of rules.entries()) {
      templateIssues(rule).forEach(({ path, message }) =>
        context.addIssue({ code: 'custom', path: ['rules', index, ...path], message }),
      );
      const span = findSpan(rule);
      if (span !== undefined && (parseDurationMs(span.text) ?? intervalMs) < intervalMs) {
        context.addIssue({
          code: 'custom',
          path: ['rules', index, span.key],
          message: `must be at least the interval of its group, ${interval}`,
        });
      }
    }
  });

/** Lists templates that cannot be filled in. Labels take none: they identify the alert, so they must not change. */
function templateIssues({ labels, annotations }: MonitorRule): { path: string[]; message: string }[] {
  const names = [...ALERT_LABELS, ...Object.keys(labels)];
  return [
    ...Object.entries(labels).flatMap(([key, text]) =>
      text.includes('{{')
        ? [{ path: ['labels', key], message: 'takes no template; write it as an annotation' }]
        : [],
    ),
    ...Object.entries(annotations).flatMap(([key, text]) => {
      const message = findTemplateFault(text, names);
      return message === undefined ? [] : [{ path: ['annotations', key], message }];
    }),
  ];
}

/** Returns the time span that a rule looks back over; it must be a multiple of the bucket. */
function findSpan(rule: MonitorRule): { readonly key: string; readonly text: string } | undefined {
  return rule.detector === 'threshold'
    ? { key: 'window', text: rule.window }
    : rule.detector === 'no_data'
      ? { key: 'after', text: rule.after }
      : undefined;
}

/** Schema of a monitor file, or of the same content inline. */
export const monitorFileSchema = z
  .strictObject({
    $schema: schemaAddress,
    groups: z
      .array(MonitorGroup)
      .describe('Groups of monitor rules. The rules of a group share one falseAlarmBudget.'),
  })
  .describe('Monitors of spanscore.');

/** Schema of monitors: files (glob patterns) or inline groups. */
export const Monitors = z.array(
  z.union([z.string().min(1).describe('A file, or a glob pattern.'), monitorFileSchema]),
);

/** Builds a default rule: drift of one measure of `behaviour`, for each agent. */
function defaultMonitor(alert: string, measure: Measure, summary: string) {
  return {
    alert,
    detector: 'drift' as const,
    series: { scorer: nameMeasure(measure) },
    reference: { days: 7, minScores: 100 },
    annotations: { summary },
  };
}

/** Monitors that apply when the configuration has no `monitors`: what each run did, under one allowance of false alarms. */
export const DEFAULT_MONITORS: readonly z.infer<typeof monitorFileSchema>[] = [
  monitorFileSchema.parse({
    groups: [
      {
        name: 'behaviour',
        falseAlarmBudget: 1,
        rules: [
          defaultMonitor('CostRose', 'cost', 'Runs of {{ $labels.agent }} cost more than usual'),
          defaultMonitor('DurationRose', 'duration', 'Runs of {{ $labels.agent }} take longer than usual'),
          defaultMonitor(
            'ToolErrorsRose',
            'tool-errors',
            'Tools of {{ $labels.agent }} fail more than usual',
          ),
          defaultMonitor('RepeatsRose', 'repeats', '{{ $labels.agent }} repeats equal calls more than usual'),
          defaultMonitor('AnsweredFell', 'answered', '{{ $labels.agent }} leaves more questions unanswered'),
          defaultMonitor('PathChanged', 'path', '{{ $labels.agent }} takes other steps than usual'),
        ],
      },
    ],
  }),
];

export type MonitorGroup = z.infer<typeof MonitorGroup>;
export type MonitorRule = z.infer<typeof MonitorRule>;

function dividesAnHour(text: string): boolean {
  const minutes = /^(\d+)m$/.exec(text)?.[1];
  return text === '1h' || (minutes !== undefined && 60 % Number(minutes) === 0);
}

const Segment = z
  .strictObject({
    for: duration('Length of the segment.', { min: '1s' }),
    every: duration('Time between two scores.', { min: '1s' }).default('5m'),
    scores: z
      .array(z.number().min(0).max(1))
      .describe('Directed scores (0 worst, 1 best), used in turn. []: a time without scores.'),
  })
  .describe('A period with equal spacing of scores.');

const Expectation = z
  .strictObject({
    alert: words('Name of the alert.', 'GroundingDropped'),
    series: words('Name of the series.', 'weather'),
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
  name: words('Name of the test in the output.', 'a drop of 5 %'),
  start: z.iso
    .datetime({ offset: true, error: 'write a date and time with its zone, like 2026-01-01T00:00:00Z' })
    .describe('Start of the series.')
    .default('2026-01-01T00:00:00Z'),
  series: z
    .array(
      z.strictObject({
        name: words('Name of the series.', 'weather'),
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
