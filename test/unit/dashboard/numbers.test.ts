import { describe, expect, it } from 'vitest';
import { describeComparison } from '../../../src/dashboard/view-models/comparison.ts';
import {
  buildBar,
  describeEstimate,
  nameLine,
  withShare,
} from '../../../src/dashboard/view-models/coverage-rows.ts';
import { buildBins, describeDistribution } from '../../../src/dashboard/view-models/charts/histogram.ts';
import { joinIncidents } from '../../../src/dashboard/view-models/incidents.ts';
import { isOfChoice, ruleYaml } from '../../../src/dashboard/view-models/rule-yaml.ts';
import {
  buildSeriesLines,
  chooseMeasure,
  describeSeries,
  describeSums,
  listMarks,
  listSeriesRows,
  listSpans,
} from '../../../src/dashboard/view-models/charts/series-chart.ts';
import { placeMarks } from '../../../src/dashboard/view-models/charts/time-axis.ts';
import { buildSparkline } from '../../../src/dashboard/view-models/charts/sparkline.ts';
import { describeNotScored, listChips } from '../../../src/dashboard/view-models/trace-list.ts';
import { parse } from 'yaml';
import { FULL } from '../../support/dashboard/canned-replies.ts';
import { aCoverageLine, aDistribution, aSeries, aTraceItem } from '../../support/dashboard/reply-builders.ts';

describe('the state of the sums', () => {
  it('tells sums that are a minute behind or more', () => {
    expect(describeSums({ behindSeconds: 420 })).toMatch(/^Sums are 7 min behind/);
    expect(describeSums({ behindSeconds: 59 })).toBe('');
  });
});

describe('a small line', () => {
  it('is interrupted by buckets without scores', () => {
    const scale = { scoreMin: 0, scoreMax: 1 };
    const buckets = [1, null, 0, 0.5].map((mean) => ({ n: 40, mean }));

    expect(buildSparkline(buckets, scale)).toBe(
      'M2.0 2.0m-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0M63.3 22.0L94.0 12.0',
    );
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
  it('has a line for each group with its interval, versions and incidents', () => {
    const [line] = buildSeriesLines(aSeries(), [], 'pass rate');

    expect(line).toMatchObject({ name: 'all scores', isSubject: true });
    expect(line?.points).toHaveLength(24);
    expect(line?.points[0]).toMatchObject({ value: 0.9, n: 12 });
    expect(line?.points[0]?.low).toBeLessThan(0.9);
    expect(listMarks(aSeries()).map(({ text }) => text)).toEqual(['weather v2']);
    expect(listSpans(aSeries())).toMatchObject([{ to: null }]);
  });

  it('names its versions so that no name covers another, and leaves out a name without room', () => {
    const marks = Array.from({ length: 6 }, (_, index) => ({
      at: index,
      text: `support-agent 1.${index}.0`,
    }));
    const rowsAt = (width: number) =>
      placeMarks(marks, { x: (at) => (at * width) / 6, width }).map(({ row }) => row);
    expect(rowsAt(320)).toEqual([0, 1, 2, 0, 3, undefined]);
    expect(rowsAt(6_000)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('has the axis of the range, a gap where a group has no scores, and a row for every bucket', () => {
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

    const lines = buildSeriesLines(reply, ['agent'], 'mean');
    expect(lines.map(({ name, points }) => [name, points.slice(0, 2).map(({ value }) => value)])).toEqual([
      ['a', [first?.mean, null]],
      ['b', [null, second?.mean]],
    ]);
    expect(lines[0]?.points.slice(1).map(({ value }) => value)).toEqual(Array<null>(23).fill(null));
    expect(listSeriesRows(reply, ['agent'])).toHaveLength(48);
  });

  it('shows the mean where no score has a pass rate', () => {
    const [group] = aSeries().groups;
    expect(chooseMeasure('mean', aSeries())).toBe('mean');
    expect(chooseMeasure(null, aSeries())).toBe('pass rate');
    expect(chooseMeasure('pass rate', aSeries({ groups: [{ ...group!, passRate: null }] }))).toBe('mean');
  });

  it('is told in words, with n and direction', () => {
    expect(describeSeries(aSeries())).toBe(
      'The mean is 0.21, 90 % pass, not checked by people (n = 412; ↓ lower is better). The baseline is 0.2 (n = 9,000). One incident is open.',
    );
    expect(describeSeries(aSeries({ groups: [] }))).toBe('There are no scores in this time.');
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

    expect(bar.map(({ outcome: { key }, share }) => [key, share])).toEqual([
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

describe('a rule', () => {
  const rule = FULL['/rules']!.items[0]!;
  const where = { agent: ['a'], not: { environment: ['test'] } };

  it.each([
    [{}, true],
    [{ agent: ['a'], environment: ['live'] }, true],
    [{ agent: ['b', 'a'] }, true],
    [{ agent: ['b'] }, false],
    [{ environment: ['test'] }, false],
  ])('scores what the bar chooses, %o: %s', (frame: Readonly<Record<string, string[]>>, expected) => {
    expect(isOfChoice({ ...rule, where }, frame)).toBe(expected);
  });
});

describe('the list of traces', () => {
  it('has a chip for each score, the bad ones first: what a finding names, and what does not pass', () => {
    const score = aTraceItem().scores[0]!;
    const row = aTraceItem({
      scores: [
        { ...score, scorer: 'tone', score: 0.9, higherIsBetter: true, passes: true, scoreId: 't' },
        score,
      ],
    });

    expect(listChips(row).map(({ scorer, isBad }) => [scorer, isBad])).toEqual([
      ['hallucination', true],
      ['tone', false],
    ]);
    expect(listChips({ ...row, finding: null })[0]).toMatchObject({ scorer: 'hallucination', isBad: true });
    const measured = { ...score, scorer: 'behaviour-duration', score: 1.8 };
    expect(listChips({ ...row, scores: [measured] })[0]?.isBad).toBeUndefined();
  });

  it('says in words why scorers gave no score, once for each reason', () => {
    const notScored = [
      { scorer: 'tone', reason: 'no_content: the spans have none' },
      { scorer: 'bias', reason: 'no_content' },
      { scorer: '*', reason: 'sampled_out' },
    ];
    expect(describeNotScored({ notScored })).toBe(
      'no content (tone, bias); sampled out (all scorers of a rule)',
    );
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
