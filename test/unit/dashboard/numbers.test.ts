import { describe, expect, it } from 'vitest';
import { describeComparison } from '../../../src/dashboard/view-models/comparison.ts';
import {
  buildBar,
  describeEstimate,
  nameLine,
  withShare,
} from '../../../src/dashboard/view-models/coverage-rows.ts';
import { buildBins, describeDistribution } from '../../../src/dashboard/view-models/charts/histogram.ts';
import { buildIncidentBar, joinIncidents } from '../../../src/dashboard/view-models/incidents.ts';
import {
  describeChange,
  describeCounts,
  describeSums,
  overviewRow,
} from '../../../src/dashboard/view-models/overview-rows.ts';
import { ruleYaml } from '../../../src/dashboard/view-models/rule-yaml.ts';
import {
  buildSeriesChart,
  describeSeries,
  formatTicks,
} from '../../../src/dashboard/view-models/charts/series-chart.ts';
import { buildSparkline } from '../../../src/dashboard/view-models/charts/sparkline.ts';
import { listScorers, scoresOf } from '../../../src/dashboard/view-models/trace-list.ts';
import { parse } from 'yaml';
import { FULL } from '../../support/dashboard/canned-replies.ts';
import {
  aCoverageLine,
  aDistribution,
  anOverviewLine,
  aSeries,
  aTraceItem,
} from '../../support/dashboard/reply-builders.ts';

describe('a row of the overview', () => {
  it('has each number with its n, and the change by the direction of the score', () => {
    expect(overviewRow(anOverviewLine())).toMatchObject({
      mean: '0.315',
      baseline: '0.2 (n = 9,000)',
      change: '▼ 0.115 worse',
      counts: '412 of 5,130 (8 %)',
    });
  });

  it.each([
    [0.5, 0.4, true, '▲ 0.1 better'],
    [0.5, 0.4, false, '▼ 0.1 worse'],
    [0.4, 0.5, null, '▼ 0.1 lower'],
    [0.5, 0.5, true, '= no change'],
    [0.5, null, true, 'not known'],
    [null, 0.5, true, 'not known'],
  ])('the change from %s to %s is written', (mean, before, direction, text) => {
    expect(describeChange(mean, before, direction)).toBe(text);
  });

  it('tells sums that are a minute behind or more', () => {
    expect(describeSums({ behindSeconds: 420 })).toMatch(/^Sums are 7 min behind/);
    expect(describeSums({ behindSeconds: 59 })).toBe('');
  });

  it('writes no share of nothing', () => {
    expect(describeCounts(0, 0)).toBe('0 of 0');
    expect(describeCounts(412, null)).toBe('412');
  });
});

describe('a small line', () => {
  it('is interrupted by buckets without scores', () => {
    const scale = { scoreMin: 0, scoreMax: 1 };
    const buckets = [1, null, 0, 0.5].map((mean) => ({ n: 40, mean }));

    expect(buildSparkline(buckets, scale)).toBe('M2.0 2.0h0.1M63.3 22.0L94.0 12.0');
  });

  it('is flat for equal means of a scorer without a range, and empty without scores', () => {
    const scale = { scoreMin: null, scoreMax: null };

    expect(
      buildSparkline(
        [
          { n: 1, mean: 3 },
          { n: 1, mean: 3 },
        ],
        scale,
      ),
    ).toBe('M2.0 12.0L94.0 12.0');
    expect(buildSparkline([{ n: 0, mean: null }], scale)).toBe('');
  });
});

describe('a chart of scores', () => {
  it('has a line for each group, the baseline, versions and incidents', () => {
    const chart = buildSeriesChart(aSeries(), []);

    expect(chart.times).toHaveLength(24);
    expect(chart.lines.map(({ name }) => name)).toEqual(['all scores']);
    expect(chart.lines[0]?.counts.slice(0, 2)).toEqual([12, 60]);
    expect(chart.band).toEqual({ low: 0.05, mean: 0.2, high: 0.4 });
    expect(chart.markers.map(({ text }) => text)).toEqual(['weather v2']);
    expect(chart.incidents).toMatchObject([{ to: null, text: 'HallucinationDrift' }]);
    expect(chart.range).toEqual({ low: 0, high: 1 });
  });

  it('has a gap where a group has no scores in a bucket', () => {
    const [first, second] = aSeries().items;
    const group = aSeries().groups[0]!;
    const reply = aSeries({
      items: [
        { ...first!, agent: 'a' },
        { ...second!, agent: 'b' },
      ],
      groups: [
        { ...group, agent: 'a' },
        { ...group, agent: 'b' },
      ],
    });

    const chart = buildSeriesChart(reply, ['agent']);
    expect(chart.lines.map(({ name, means }) => [name, means.slice(0, 2)])).toEqual([
      ['a', [first?.mean, null]],
      ['b', [null, second?.mean]],
    ]);
    // The axis is the range's, and no line bridges the hours without scores.
    expect(chart.times).toHaveLength(24);
    expect(chart.lines[0]?.means.slice(1)).toEqual(Array<null>(23).fill(null));
  });

  it('is told in words, with n and direction', () => {
    expect(describeSeries(aSeries())).toBe(
      'The mean is 0.21 (n = 412; ↓ lower is better). The latest bucket, from 2026-11-22 23:00:00 UTC, has 0.43 (n = 60). ' +
        'The baseline is 0.2 (p10 0.05 to p90 0.4, n = 9,000). One incident is open.',
    );
    expect(describeSeries(aSeries({ groups: [] }))).toBe('There are no scores in this time.');
  });

  it('has times in UTC: the day where it begins, else the hour', () => {
    const at = (text: string) => Date.parse(text) / 1_000;

    expect(formatTicks([at('2026-11-22T22:00Z'), at('2026-11-22T23:00Z'), at('2026-11-23T00:00Z')])).toEqual([
      '11-22',
      '23:00',
      '11-23',
    ]);
  });
});

describe('a distribution', () => {
  it('has both histograms bin by bin', () => {
    expect(buildBins(aDistribution())).toHaveLength(10);
    expect(buildBins(aDistribution())[0]).toMatchObject({ from: 0, to: 0.1, count: 60 });
    expect(buildBins(aDistribution({ reference: null }))[0]?.before).toBeNull();
  });

  it('is told in words', () => {
    expect(describeDistribution(aDistribution())).toContain(
      'The largest bin, 0 to 0.1, has 26 % of the traffic.',
    );
    expect(describeDistribution(aDistribution({ reference: null }))).toContain('no earlier scores');
  });
});

describe('a line of the coverage', () => {
  it('has its outcomes as shares of the eligible', () => {
    const bar = buildBar(aCoverageLine());

    expect(bar.map(({ key, share }) => [key, share])).toEqual([
      ['scored', 0.3],
      ['notApplicable', 0.06],
      ['deferred', 0.03],
      ['failed', 0.01],
      ['sampledOut', 0.6],
    ]);
    expect((bar.at(-1)?.from ?? 0) + (bar.at(-1)?.share ?? 0)).toBeCloseTo(1);
    expect(buildBar(aCoverageLine({ eligible: 0 })).every(({ share }) => share === 0)).toBe(true);
  });

  it('is named by its group, and its numbers have their shares', () => {
    expect(nameLine(aCoverageLine({ service: null }), 'service')).toBe('not known');
    expect(nameLine(aCoverageLine({ status: 'sampled_out', reason: null }), 'reason')).toBe(
      'sampled out: without a note',
    );
    expect(withShare(300, aCoverageLine())).toBe('300 (30 %)');
    expect(describeEstimate(aCoverageLine())).toBe('750 of 1,010');
  });
});

describe('incidents', () => {
  const event = FULL['/alerts']!.items[0]!;

  it('join the beginning and the end, open ones first', () => {
    const ended = { ...event, incidentId: 'i-2', startsAt: '2026-11-23T00:00:00.000Z' };
    const events = [
      { ...ended, status: 'resolved' as const, endsAt: '2026-11-23T02:00:00.000Z' },
      ended,
      event,
    ];

    expect(joinIncidents(events).map((each) => [each.event.incidentId, each.isOpen])).toEqual([
      ['i-1', true],
      ['i-2', false],
    ]);
  });

  it('have a bar within the shown time', () => {
    const toMs = Date.parse('2026-11-23T00:00:00.000Z');
    const range = { fromMs: toMs - 2 * 86_400_000, toMs };

    expect(buildIncidentBar({ event, isOpen: true }, range)).toEqual({ from: 0.5, width: 0.5 });
    expect(buildIncidentBar({ event: { ...event, startsAt: null }, isOpen: true }, range)).toEqual({
      from: 0,
      width: 1,
    });
  });
});

describe('a rule as YAML', () => {
  it('is read back as it was', () => {
    expect(parse(ruleYaml(FULL['/rules']!.items[0]!))).toEqual({
      rules: [
        {
          name: 'production',
          scorers: ['hallucination'],
          where: { service: ['weather'] },
          sample: { rate: 0.1, always: [] },
          budget: { perDay: 5 },
        },
      ],
    });
  });
});

describe('the list of traces', () => {
  it('has each scorer as a column, with all of its scores', () => {
    const rows = [aTraceItem(), aTraceItem({ scores: [] })];

    expect(listScorers(rows)).toEqual(['hallucination']);
    expect(scoresOf(rows[0]!, 'hallucination').map(({ score }) => score)).toEqual([0.25]);
    expect(scoresOf(rows[1]!, 'hallucination')).toEqual([]);
  });
});

describe('a comparison', () => {
  it('is told in words', () => {
    expect(describeComparison(FULL['/compare']!)).toBe(
      'Both sides agree on 90 % of 120 targets. Kappa is 0.72 (95 %: 0.6 to 0.84): substantial agreement. The rank correlation is 0.7.',
    );
    expect(describeComparison({ ...FULL['/compare']!, n: 0 })).toContain('No target has a score of both');
  });
});
