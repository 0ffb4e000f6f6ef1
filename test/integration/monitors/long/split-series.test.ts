import { describe, expect, test } from 'vitest';
import { backtestScores, storedScores } from '../../../../src/monitors/live/backtest-scores.ts';
import type { Score } from '../../../../src/domain/score.ts';
import { computeRuleKey } from '../../../../src/monitors/group-watch.ts';
import { type MonitorGroup, type RuleSplit, buildSplits } from '../../../../src/monitors/rule.ts';
import {
  DAY_MS,
  HOUR_MS,
  monitorGroup,
  monitorRule,
  QUICK_DRIFT,
} from '../../../support/monitors/hourly-monitors.ts';
import { worldsOfTests, WORLD_START_MS as START } from '../../../support/monitors/monitor-world.ts';

const its = worldsOfTests();

const PLAIN = monitorRule(QUICK_DRIFT, { alert: 'All' });

function groupBy(...by: RuleSplit['by']): MonitorGroup {
  return monitorGroup(PLAIN, monitorRule(QUICK_DRIFT, { alert: 'Part', split: { by, minDailyScores: 20 } }));
}

const GOOD = [0.8, 0.85, 0.9, 0.95];
const BAD = [0.1, 0.2, 0.3];

function listScores(values: readonly number[], more: Partial<Score>): Partial<Score>[] {
  return values.map((score) => ({ ...more, score }));
}

const BEGUN = START + 30 * HOUR_MS;
const ENDED = BEGUN + 12 * HOUR_MS;
const STEADY = { model: "a/b'c", serviceVersion: 'v1' };
const RARE = { model: 'rare' };

/** Two models, one of which falls with a new version of the agent; of a third too little is heard. */
async function fill(): Promise<void> {
  const steady = listScores(GOOD, STEADY);
  const of = (agentVersion: string) => ({ model: 'agentVersion', serviceVersion: 'v1', agentVersion });
  await its.world.scoredHourly(START, BEGUN, [...steady, ...listScores(GOOD, of('1'))]);
  await its.world.scoredHourly(BEGUN, ENDED, [...steady, ...listScores(BAD, of('2'))]);
  await its.world.scored(
    START + HOUR_MS / 2,
    Array.from({ length: 19 }, () => ({ ...RARE, score: 0.1 })),
  );
}

/** Evaluates all that is there, and says which parts are alerted. */
async function evaluate(group: MonitorGroup) {
  const evaluator = its.world.evaluator([group]);
  its.world.clockMs = START + 61_000;
  await evaluator.advance();
  its.world.clockMs = ENDED + 61_000;
  await evaluator.advance();
  return evaluator.statuses();
}

async function openPart() {
  const open = await its.world.store.alerts.open();
  return open.find(({ alert }) => alert === 'Part');
}

describe('series split by a model', () => {
  test('are reported separately, with the evidence of that part alone', async () => {
    await fill();
    const statuses = await evaluate(groupBy('model'));
    expect(statuses.map(({ alert, series }) => [alert, series.model])).toEqual([
      ['All', undefined],
      ['Part', "a/b'c"],
      ['Part', 'agentVersion'],
    ]);
    const part = await openPart();
    expect(part).toMatchObject({
      series: { model: 'agentVersion' },
      changeBeganMs: BEGUN,
      agentVersion: '2',
    });
    expect(part?.before).toBeCloseTo(0.875, 2);
    expect(part?.after).toBeLessThan(0.3);
    expect(part?.cause?.before?.mean).toBeCloseTo(0.875, 2);
    expect(part?.cause?.dimensions.map(({ dimension }) => dimension)).not.toContain('model');
    expect(part?.worstTraces.every(({ score }) => score <= 0.3)).toBe(true);
  });

  test('are restored from stored rows without a change', async () => {
    await fill();
    const group = groupBy('model');
    const before = await evaluate(group);
    const again = its.world.evaluator([group]);
    await again.advance();
    expect(again.statuses()).toEqual(before);
    const ruleKeys = group.rules.map((rule) => computeRuleKey(group, rule));
    const shown = await its.world.store.monitorView.statuses({ ruleKeys }, 10);
    expect(new Set(shown.map(({ series }) => series))).toEqual(new Set(before.map(({ series }) => series)));
  });

  test('learn from scores before their rule', async () => {
    await fill();
    const old = await evaluate(monitorGroup(PLAIN));
    expect(old).toHaveLength(1);
    const evaluator = its.world.evaluator([groupBy('model')]);
    await evaluator.advance();
    expect(evaluator.statuses().map(({ alert, phase }) => [alert, phase])).toEqual([
      ['All', 'ok'],
      ['Part', 'ok'],
      ['Part', 'firing'],
    ]);
    expect((await openPart())?.series.model).toBe('agentVersion');
  });

  test('count scores that are left out once', async () => {
    const late = { ...STEADY, evidenceUntil: START - DAY_MS, score: 1 };
    await its.world.scored(START + 1000, [...listScores(GOOD, STEADY), late]);
    await evaluate(groupBy('model'));
    const query = { intervalMs: HOUR_MS, sinceMs: START };
    expect(await its.world.store.monitorView.setAside(query)).toMatchObject([{ folded: 4, late: 1 }]);
  });

  test('have buckets of their own, from which a part learns again', async () => {
    await fill();
    await evaluate(groupBy('model'));
    const series = (await openPart())?.series;
    const counts: number[] = [];
    const range = { intervalMs: HOUR_MS, fromMs: BEGUN - HOUR_MS, toMs: BEGUN + HOUR_MS };
    for await (const rows of its.world.store.monitors.buckets(range, series)) {
      counts.push(...rows.map(({ bucket }) => bucket.scores.counts.length));
      expect(rows.map((row) => row.series)).toEqual(rows.map(() => series));
    }
    expect(counts).toEqual([GOOD.length, BAD.length]);
  });
});

describe('series split by several facets', () => {
  test('are one for each pair of values that occurs', async () => {
    await fill();
    const statuses = await evaluate(groupBy('model', 'agentVersion', 'serviceVersion', 'service'));
    const parts = statuses.filter(({ alert }) => alert === 'Part').map(({ series }) => series);
    const base = { tenant: '', scorer: 'keyword-coverage', fingerprint: 'f1', agent: 'weather-agent' };
    const of = { ...base, environment: '', serviceVersion: 'v1', service: 'shop' };
    expect(new Set(parts)).toEqual(
      new Set([
        { ...of, model: "a/b'c", agentVersion: '' },
        { ...of, model: 'agentVersion', agentVersion: '1' },
        { ...of, model: 'agentVersion', agentVersion: '2' },
      ]),
    );
  });
});

test('series that are no longer watched are no longer listed, even if a rule has no other', async () => {
  await its.world.scored(START + 1000, listScores(Array<number>(20).fill(0.9), STEADY));
  const statuses = await evaluate(groupBy('model'));
  const ruleKeys = [...new Set(statuses.map(({ ruleKey }) => ruleKey))];
  const listed = async () => {
    const shown = await its.world.store.monitorView.statuses({ ruleKeys }, 10);
    return shown.map(({ alert }) => alert);
  };
  expect(await listed()).toEqual(['All', 'Part']);
  const later = (hours: number) =>
    statuses
      .filter(({ alert }) => alert === 'All')
      .map((status) => ({ ...status, bucketMs: status.bucketMs + hours * HOUR_MS }));
  await its.world.store.monitors.writeStatus(later(3));
  expect(await listed()).toEqual(['All', 'Part']);
  await its.world.store.monitors.writeStatus(later(4));
  expect(await listed()).toEqual(['All']);
});

test('a backtest on stored scores splits them as live', async () => {
  await fill();
  const group = groupBy('model');
  const range = { fromMs: START, toMs: ENDED };
  const { results } = await backtestScores(
    [group],
    storedScores(its.world.store.monitorView, range, buildSplits(group.rules)),
  );
  expect(results.map(({ alert, series, finalState }) => `${alert} ${series} ${finalState}`).sort()).toEqual([
    'All keyword-coverage/weather-agent#f1 ok',
    "Part keyword-coverage/weather-agent/model a/b'c#f1 ok",
    'Part keyword-coverage/weather-agent/model agentVersion#f1 firing',
  ]);
});
