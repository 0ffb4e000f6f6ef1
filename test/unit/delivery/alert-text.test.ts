import { describe, expect, it } from 'vitest';
import {
  formatFinding,
  listCauses,
  formatSummary,
  traceLink,
} from '../../../src/delivery/channels/alert-text.ts';
import { anAlert, budgetAlert, resolvedEvent } from '../../support/builders/an-alert.ts';

describe('the sentence on an alert', () => {
  it.each([
    [{}, 'mean score fell from 0.91 to 0.52 (1 is best)'],
    [{ before: 0.5, after: 0.75 }, 'mean score rose from 0.5 to 0.75 (1 is best)'],
    [{ detector: 'floor', before: null, after: 0.123_456 }, 'mean score is 0.123 (1 is best)'],
    [{ before: null, after: null }, 'mean score changed'],
    [{ detector: 'rate', before: 0.05, after: 0.2 }, 'share of low scores is above 0.05: 0.2 over 69 scores'],
    [
      { detector: 'floor', before: 0.9, after: 0.6 },
      'mean score is below 0.9: 0.6 over 69 scores (1 is best)',
    ],
    [
      { detector: 'floor', before: 0.9, after: 0.6, meanBefore: 0.95 },
      'mean score is below 0.9: 0.6 over 69 scores (1 is best); it was 0.95 before',
    ],
    [
      { detector: 'rate', before: 0.05, after: 0.2, meanBefore: 0.95 },
      'share of low scores is above 0.05: 0.2 over 69 scores',
    ],
    [
      { detector: 'scorer_errors', before: 0.05, after: 0.2 },
      'share of runs in which the scorer failed is above 0.05: 0.2 over 69 runs',
    ],
    [
      { detector: 'coverage', before: 0.9, after: 0.1 },
      'share of runs that are scored is below 0.9: 0.1 over 69 runs',
    ],
    [
      { detector: 'threshold', before: 0.7, after: 0.42, count: 31 },
      'mean score is below 0.7: 0.42 over 31 scores (1 is best)',
    ],
    [
      { detector: 'threshold', before: 0.7, after: 0.699_96, count: 1 },
      'mean score is below 0.7: 0.69996 over 1 score (1 is best)',
    ],
    [{ detector: 'no_data', before: null, after: null }, 'no scores arrive any more'],
  ])('with %j', (more, sentence) => {
    expect(formatSummary(anAlert(more))).toBe(`faithfulness of support-agent in production: ${sentence}`);
  });

  it('leaves out what is not known of the series', () => {
    const series = { ...anAlert().series, agent: '', environment: '' };
    expect(formatSummary(anAlert({ series }))).toMatch(/^faithfulness: mean score/);
  });

  it('names the part of a series that is split', () => {
    const series = { ...anAlert().series, model: 'gpt-5', serviceVersion: '' };
    expect(formatSummary(anAlert({ series }))).toMatch(
      /^faithfulness of support-agent in production, model gpt-5, service version unknown: mean score/,
    );
  });

  it.each([
    [5 * 3_600_000, '5 h'],
    [90 * 60_000, '1 h 30 min'],
    [26.5 * 3_600_000, '1 d 2 h'],
    [20_000, 'less than a minute'],
  ])('that ended after %i ms', (lastedMs, text) => {
    expect(formatSummary(resolvedEvent(anAlert(), lastedMs))).toBe(
      `faithfulness of support-agent in production: over after ${text}`,
    );
  });
});

describe('the sentences on a budget', () => {
  it.each([
    [80, 4.1, '80 % is reached, 4.1 USD are spent', ''],
    [100, 4.98, 'no further call can be paid, 4.98 USD are spent', ' Judge calls wait until then.'],
  ])('of which %d %% are spent', (percent, spentUsd, numbers, wait) => {
    const event = budgetAlert(percent, spentUsd);
    expect(formatSummary(event)).toBe(`rule production's budget of 5 USD a UTC day: ${numbers}`);
    expect(formatFinding(event)).toBe(`The budget renews at 2026-11-22 00:00 UTC.${wait}`);
  });

  it('that has renewed', () => {
    expect(formatSummary(resolvedEvent(budgetAlert(80, 4.1)))).toBe(
      "rule production's budget of 5 USD a UTC day: over after 5 h",
    );
  });
});

it('the finding tells since when, of how many, and how sure', () => {
  expect(formatFinding(anAlert({ lateScores: 12 }))).toMatch(
    /\(log10\)\. Besides, 12 scores came more than an hour after the trace, too late to count\.$/u,
  );
  expect(formatFinding(anAlert({ detector: 'threshold', lateScores: 1 }))).toMatch(
    / Besides, 1 score came /u,
  );
  expect(formatFinding(anAlert())).toBe(
    'The change began about 2026-11-21 06:40 UTC; 69 observations since then, evidence 5.3 (log10).',
  );
  expect(formatFinding(anAlert({ count: 1, evidenceLog10: null }))).toBe(
    'The change began about 2026-11-21 06:40 UTC; 1 observation since then.',
  );
});

it('the finding of a threshold tells when it was crossed, for it weighs no evidence', () => {
  expect(formatFinding(anAlert({ detector: 'threshold', evidenceLog10: null }))).toBe(
    'It was first below in the window that began about 2026-11-21 06:40 UTC.',
  );
});

it('the reason is told in a sentence, and further causes with their part', () => {
  expect(listCauses(anAlert())).toEqual([
    '−0.30 in faithfulness: 100 % within model gpt-5-mini (0.91 → 0.40), mix 0 %.',
  ]);
  const cause = anAlert().cause!;
  const second = { ...cause.causes[0]!, segment: { tool: 'search' }, share: 0.2 };
  expect(listCauses(anAlert({ cause: { ...cause, causes: [...cause.causes, second] } }))[1]).toBe(
    'tool search: 20 % of the change (0.91 → 0.4, 41 scores)',
  );
});

it.each([null, undefined, { ...anAlert().cause!, verdict: 'none' as const }])(
  'nothing is told of a change without a reason',
  (cause) => {
    expect(listCauses(anAlert({ cause }))).toEqual([]);
  },
);

it('a trace has a link to its page, with its tenant, where the dashboard has a public address', () => {
  const ofTenant = { series: { ...anAlert().series, tenant: 'a b' } };
  const ofNone = { series: { ...anAlert().series, tenant: '' } };
  const links = { publicUrl: 'https://s.example/base' };
  expect(traceLink('ab', ofTenant, links)).toBe('https://s.example/base/traces/ab?tenant=a%20b');
  expect(traceLink('ab', ofNone, links)).toBe('https://s.example/base/traces/ab');
  expect(traceLink('ab', ofNone, {})).toBeUndefined();
});
