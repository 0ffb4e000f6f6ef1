import { expect, it } from 'vitest';
import { coverageLines, MENDS } from '../../../src/api/reads/coverage.ts';
import { configJsonSchema } from '../../../src/configuration.ts';
import type { CoverageRow } from '../../../src/store/contracts/sums.ts';
import { schemaKeys } from '../../../tools/docs/config-keys.ts';

const SINCE_MS = Date.UTC(2026, 10, 21);

function aRow(fields: Partial<CoverageRow> = {}): CoverageRow {
  return {
    rule: 'live',
    scorer: 'tone',
    service: 'shop',
    status: 'scored',
    reason: '',
    decisions: 1,
    weight: 1,
    unweighted: 0,
    ...fields,
  };
}

const ROWS = [
  aRow({ decisions: 4, weight: 40 }),
  aRow({ status: 'sampled_out', reason: 'sampled_out', decisions: 36, weight: 0, unweighted: 36 }),
  aRow({ status: 'filtered', reason: 'where', decisions: 7, service: '', weight: 0, unweighted: 7 }),
  aRow({ scorer: 'bias', status: 'failed', reason: 'judge_malformed', decisions: 2, weight: 20 }),
  aRow({ scorer: 'bias', status: 'deferred', reason: 'budget_exhausted', decisions: 1, weight: 10 }),
  aRow({ scorer: 'bias', status: 'not_applicable', reason: 'not_scorable', weight: 0, unweighted: 1 }),
];
const WAITING = [
  { rule: 'live', scorer: 'tone', waiting: 2 },
  { rule: 'live', scorer: 'bias', waiting: 3 },
];

it('counts all together, with their reasons and what they stand for', () => {
  expect(coverageLines(ROWS, WAITING, { sinceMs: SINCE_MS })).toEqual([
    {
      eligible: 44,
      sampled: 8,
      scored: 4,
      notApplicable: 1,
      deferred: 1,
      failed: 2,
      sampledOut: 36,
      filtered: 7,
      waiting: 5,
      reasons: {
        sampled_out: { sampled_out: 36 },
        filtered: { where: 7 },
        failed: { judge_malformed: 2 },
        deferred: { budget_exhausted: 1 },
        not_applicable: { not_scorable: 1 },
      },
      estimate: { eligible: 70, scored: 40, notApplicable: 0, deferred: 10, failed: 20, unweighted: 1 },
      since: '2026-11-21T00:00:00.000Z',
    },
  ]);
});

it('gives a line of zeros when nothing was decided', () => {
  const [line] = coverageLines([], [], { sinceMs: SINCE_MS });
  expect(line).toMatchObject({ eligible: 0, scored: 0, filtered: 0, waiting: 0, reasons: {} });
  expect(coverageLines([], [], { by: 'rule', sinceMs: SINCE_MS })).toEqual([]);
});

it('groups by scorer, service and reason, the greatest number first', () => {
  const by = (group: 'scorer' | 'service' | 'reason') =>
    coverageLines(ROWS, WAITING, { by: group, sinceMs: SINCE_MS });
  expect(by('scorer')).toMatchObject([
    { scorer: 'tone', eligible: 40, waiting: 2 },
    { scorer: 'bias', eligible: 4, waiting: 3 },
  ]);
  expect(by('service')).toMatchObject([
    { service: 'shop', eligible: 44 },
    { service: null, filtered: 7 },
  ]);
  expect(by('reason').slice(0, 2)).toMatchObject([
    { reason: 'sampled_out', status: 'sampled_out', sampledOut: 36 },
    { reason: null, status: 'scored', scored: 4 },
  ]);
  expect(by('reason')[0]).not.toHaveProperty('waiting');
});

it('shows a scorer that has only waiting traces', () => {
  expect(coverageLines([], WAITING, { by: 'scorer', sinceMs: SINCE_MS })).toMatchObject([
    { scorer: 'tone', eligible: 0, waiting: 2 },
    { scorer: 'bias', eligible: 0, waiting: 3 },
  ]);
});

it('counts decisions of backfills and commands by rule only', () => {
  const rows = [...ROWS, aRow({ rule: 'backfill:a1' }), aRow({ rule: 'api' })];
  expect(coverageLines(rows, [], { sinceMs: SINCE_MS })[0]?.eligible).toBe(44);
  const rules = coverageLines(rows, [], { by: 'rule', sinceMs: SINCE_MS });
  expect(rules.map(({ rule, eligible }) => [rule, eligible])).toEqual([
    ['live', 44],
    ['backfill:a1', 1],
    ['api', 1],
  ]);
});

it('every key that mends a loss of the funnel is a key of the configuration', () => {
  const known = new Set(schemaKeys(configJsonSchema()).map(({ path }) => path));
  const keys = Object.values(MENDS).filter((mend) => /^(rules|judges|scorers|store)\b/u.test(mend));
  expect(keys.filter((key) => !known.has(key))).toEqual([]);
});
