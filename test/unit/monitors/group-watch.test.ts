import { describe, expect, test } from 'vitest';
import { NO_OUTCOMES, type Outcomes, buildHistogram } from '../../../src/monitors/bucket.ts';
import {
  MAX_NEW_NAMES,
  MAX_SERIES,
  buildStates,
  computeRuleKey,
  foldGroup,
  restoreStates,
  watchGroup,
} from '../../../src/monitors/group-watch.ts';
import type { SeriesBucket } from '../../../src/monitors/monitor-store.ts';
import type { MonitorGroup, MonitorRule } from '../../../src/monitors/rule.ts';
import { computeSeriesKey } from '../../../src/monitors/series-key.ts';
import { NO_TRAFFIC, countTraffic, hasTraffic } from '../../../src/monitors/traffic-floor.ts';
import { A_SERIES } from '../../support/fakes/memory-monitors.ts';

const HOUR_MS = 3_600_000;
const RULE: MonitorRule = {
  alert: 'Low',
  detection: { kind: 'floor', minimum: 0.5 },
  series: {},
  terms: { forMs: 0, keepFiringForMs: 0, noDataAfterMs: 24 * HOUR_MS, intervalMs: HOUR_MS },
  paused: false,
  labels: {},
  annotations: {},
};
const GROUP: MonitorGroup = { name: 'quality', intervalMs: HOUR_MS, falseAlarmBudget: 1, rules: [RULE] };

function received(
  startMs: number,
  agents: readonly string[],
  scores: readonly number[],
  outcomes: Partial<Outcomes> = { scored: scores.length },
): Map<string, SeriesBucket> {
  const rows = agents.map((agent): SeriesBucket => ({
    series: { ...A_SERIES, agent },
    bucket: { startMs, scores: buildHistogram(scores), outcomes: { ...NO_OUTCOMES, ...outcomes } },
    aside: { refused: 0, repeated: 0, rescored: 0, late: 0, notUniform: 0, notLive: 0 },
  }));
  return new Map(rows.map((row) => [computeSeriesKey(row.series), row]));
}

/** Series of one agent, under many fingerprints of its judge. */
function ofJudges(count: number, tenant: string): Map<string, SeriesBucket> {
  const [row] = received(0, ['weather'], [0.9]).values();
  const rows = Array.from({ length: count }, (_, index) => {
    const series = { ...A_SERIES, tenant, fingerprint: `judge-${index}` };
    return row === undefined ? [] : [[computeSeriesKey(series), { ...row, series }] as const];
  });
  return new Map(rows.flat());
}

function seriesCount(watch: ReturnType<typeof watchGroup>): number {
  return watch.rules.reduce((sum, { series }) => sum + series.size, 0);
}

describe('a watched group', () => {
  test.each([
    ['scores with its first score, not with an outcome: its rows may have other names', RULE.detection, 1],
    ['outcomes with its first outcome', { kind: 'scorer_errors', maxRate: 0.1 } as const, 3],
  ])('starts a series of %s', (_what, detection, count) => {
    const watch = watchGroup({ ...GROUP, rules: [{ ...RULE, detection }] });
    foldGroup(watch, 0, received(0, ['counted'], [], {}));
    expect(seriesCount(watch)).toBe(0);
    foldGroup(watch, HOUR_MS, received(HOUR_MS, ['failing'], [], { failed: 1 }));
    foldGroup(watch, 2 * HOUR_MS, received(2 * HOUR_MS, ['elsewhere'], [], { scored: 1 }));
    foldGroup(watch, 3 * HOUR_MS, received(3 * HOUR_MS, ['scored'], [0.9], { scored: 1 }));
    expect(seriesCount(watch)).toBe(count);
  });

  test('forgets a series that had no score for thirty days', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, received(0, ['retired', 'busy'], [0.9]));
    for (let hour = 1; hour <= 30 * 24; hour += 1) {
      foldGroup(watch, hour * HOUR_MS, received(hour * HOUR_MS, ['busy'], [0.9]));
    }
    expect(seriesCount(watch)).toBe(2);
    foldGroup(watch, 721 * HOUR_MS, received(721 * HOUR_MS, ['busy'], [0.9]));
    expect(seriesCount(watch)).toBe(1);
  });

  test('keeps a firing series after any time without scores', () => {
    const rule: MonitorRule = {
      ...RULE,
      detection: { kind: 'threshold', minimum: 0.7, recovery: 0.7, windowMs: HOUR_MS, minScores: 1 },
    };
    const watch = watchGroup({ ...GROUP, rules: [rule] });
    foldGroup(watch, 0, received(0, ['retired'], [0.1]));
    for (let hour = 1; hour <= 800; hour += 1) {
      foldGroup(watch, hour * HOUR_MS, new Map());
    }
    expect(seriesCount(watch)).toBe(1);
  });

  test('tells of a silence of thirty days, and of one that must hold on', () => {
    const day = 24 * HOUR_MS;
    const rule: MonitorRule = {
      ...RULE,
      detection: { kind: 'no_data', afterMs: 30 * day },
      terms: { ...RULE.terms, forMs: day },
    };
    const watch = watchGroup({ ...GROUP, rules: [rule] });
    foldGroup(watch, 0, received(0, ['retired'], [0.9]));
    const changes = Array.from({ length: 36 * 24 }, (_, hour) =>
      foldGroup(watch, (hour + 1) * HOUR_MS, new Map()),
    ).flat();
    expect(changes.map(({ to }) => to)).toEqual(['firing']);
  });

  test('watches a bounded number of series, and counts those that found no place', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, ofJudges(MAX_SERIES + 3, 'a'));
    expect(seriesCount(watch)).toBe(MAX_SERIES);
    expect(watch.overflow).toBe(3);
  });

  test('gives each tenant its own places and its own share of the allowance, whatever names another one invents', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, new Map([...ofJudges(MAX_SERIES, 'a'), ...ofJudges(2, 'b')]));
    expect(watch.overflow).toBe(0);
    expect(watch.laidOutFor.get('b')).toBe(4);
  });

  describe('to which a sender invents names', () => {
    const name = (at: string, count: number) => Array.from({ length: count }, (_, index) => `${at}-${index}`);
    /** Names of the series, without the many of one beginning. */
    const findNames = (watch: ReturnType<typeof watchGroup>) =>
      watch.rules.flatMap(({ series }) =>
        [...series.values()]
          .map(({ series: { agent, environment } }) => `${agent} in ${environment}`)
          .filter((text) => !text.includes('bot-')),
      );
    const inEnvironments = (rows: ReturnType<typeof received>) =>
      new Map(
        [...rows.values()].map((row, index) => {
          const series = { ...row.series, agent: 'weather', environment: `bot-${index}` };
          return [computeSeriesKey(series), { ...row, series }] as const;
        }),
      );

    test('watches 200 new agents a day, and all further ones as one, through a restart, until the next day', () => {
      let watch = watchGroup(GROUP);
      foldGroup(watch, 0, received(0, ['weather'], [0.9]));
      foldGroup(watch, HOUR_MS, received(HOUR_MS, name('bot', 5000), [0.8, 0.6]));
      expect(seriesCount(watch)).toBe(MAX_NEW_NAMES + 1);
      expect(findNames(watch)).toEqual(['weather in production', 'other in production']);
      expect(watch.overflow).toBe(5000 - MAX_NEW_NAMES + 1);
      const others = watch.rules.flatMap(({ series }) => [...series.values()]).at(-1);
      expect(others?.state.scores).toBe(2 * (5000 - MAX_NEW_NAMES + 1));
      const states = watch.rules.map(buildStates);
      watch = watchGroup(GROUP);
      watch.rules.forEach((rule, index) =>
        restoreStates(rule, { bucketMs: HOUR_MS, states: states[index] ?? [] }),
      );
      for (const [hour, count] of [
        [2, MAX_NEW_NAMES + 1],
        [24, MAX_NEW_NAMES + 2],
      ] as const) {
        foldGroup(watch, hour * HOUR_MS, received(hour * HOUR_MS, ['sport', 'weather'], [0.9]));
        expect(seriesCount(watch)).toBe(count);
      }
      expect(findNames(watch)).toContain('sport in production');
    });

    test.each<[string, Partial<MonitorRule>, ReturnType<typeof received>, string[]]>([
      ['environments', {}, inEnvironments(received(0, name('bot', 300), [0.9])), ['other in other']],
      [
        'environments of an agent that the rule asks for',
        { series: { agent: 'weather' } },
        inEnvironments(received(0, name('bot', 300), [0.9])),
        ['weather in other'],
      ],
      [
        'agents with failures alone',
        { detection: { kind: 'scorer_errors', maxRate: 0.1 } },
        received(0, name('bot', 300), [], { failed: 1 }),
        ['other in production'],
      ],
      [
        'agents, which then fall silent',
        { detection: { kind: 'no_data', afterMs: HOUR_MS } },
        received(0, name('bot', 300), [0.9]),
        [],
      ],
      [
        'agents, one of which has the name of all others',
        {},
        received(0, ['other', ...name('bot', 300)], [0.9]),
        ['other in production'],
      ],
    ])('bounds the series of %s', (_what, rule, rows, names) => {
      const watch = watchGroup({ ...GROUP, rules: [{ ...RULE, ...rule }] });
      foldGroup(watch, 0, rows);
      expect(findNames(watch)).toEqual(names);
      expect(seriesCount(watch)).toBeLessThanOrEqual(MAX_NEW_NAMES + 1);
      expect(watch.overflow).toBeGreaterThan(0);
    });
  });

  test('continues from the text of a state as from the state', () => {
    const watch = watchGroup(GROUP);
    foldGroup(watch, 0, received(0, ['a'], [0.4, 0.2]));
    const again = watchGroup(GROUP);
    for (const [from, into] of watch.rules.map(
      (rule, index) => [rule, again.rules[index] ?? rule] as const,
    )) {
      restoreStates(into, { bucketMs: 0, states: buildStates(from) });
    }
    const next = received(
      HOUR_MS,
      ['a'],
      Array.from({ length: 60 }, () => 0.05),
    );
    expect(foldGroup(again, HOUR_MS, next)).toEqual(foldGroup(watch, HOUR_MS, next));
  });

  describe('whose rule splits', () => {
    const DAY_MS = 24 * HOUR_MS;
    const split = { by: ['model'] as const, minDailyScores: 3 };
    const watchSplit = () => watchGroup({ ...GROUP, rules: [{ ...RULE, split }] });
    const ofModels = (startMs: number, models: readonly string[], scores: readonly number[]) =>
      new Map(
        models.flatMap((model) => {
          const [row] = received(startMs, ['weather'], scores).values();
          const series = { ...A_SERIES, model };
          return row === undefined ? [] : [[computeSeriesKey(series), { ...row, series }] as const];
        }),
      );
    const findModels = ({ rules }: ReturnType<typeof watchGroup>) =>
      rules.flatMap(({ series }) => [...series.values()].map((watch) => watch.series.model));

    test('watches parts with traffic enough, and shares the allowance among them alone', () => {
      const watch = watchSplit();
      foldGroup(watch, 0, ofModels(0, ['a', 'b', 'c'], [0.9, 0.9]));
      expect(findModels(watch)).toEqual([]);
      foldGroup(watch, HOUR_MS, ofModels(HOUR_MS, ['a', 'b'], [0.9]));
      foldGroup(watch, DAY_MS, ofModels(DAY_MS, ['c'], [0.9]));
      expect(findModels(watch)).toEqual(['a', 'b']);
      expect([...watch.laidOutFor]).toEqual([[A_SERIES.tenant, 2]]);
    });

    test('watches no part for a rule that does not split, nor a whole for one that does', () => {
      const plain = watchGroup(GROUP);
      foldGroup(plain, 0, ofModels(0, ['a'], [0.9, 0.9, 0.9]));
      expect(seriesCount(plain)).toBe(0);
      const parted = watchSplit();
      foldGroup(parted, 0, received(0, ['weather'], [0.9, 0.9, 0.9]));
      expect(seriesCount(parted)).toBe(0);
    });

    test('lets a part go that had no such traffic for a week, unless it is alerted', () => {
      const watch = watchSplit();
      foldGroup(watch, 0, ofModels(0, ['good'], [0.9, 0.9, 0.9]));
      foldGroup(watch, HOUR_MS, ofModels(HOUR_MS, ['bad'], Array<number>(60).fill(0.05)));
      for (let hour = 2; hour < 8 * 24; hour += 1) {
        foldGroup(watch, hour * HOUR_MS, ofModels(hour * HOUR_MS, [], []));
      }
      expect(findModels(watch)).toEqual(['good', 'bad']);
      foldGroup(watch, 8 * DAY_MS, new Map());
      expect(findModels(watch)).toEqual(['bad']);
    });

    test('continues from the text of its states in the middle of a day', () => {
      const watch = watchSplit();
      foldGroup(watch, 0, ofModels(0, ['a'], [0.9, 0.9, 0.9]));
      foldGroup(watch, HOUR_MS, ofModels(HOUR_MS, ['b'], [0.9, 0.9]));
      const again = watchSplit();
      again.rules.forEach((rule, index) => {
        restoreStates(rule, { bucketMs: HOUR_MS, states: buildStates(watch.rules[index] ?? rule) });
      });
      // Of before the text was written: counted already.
      foldGroup(again, HOUR_MS, ofModels(HOUR_MS, ['b', 'c'], [0.9, 0.9]));
      for (const each of [watch, again]) {
        foldGroup(each, 2 * HOUR_MS, ofModels(2 * HOUR_MS, ['b', 'c'], [0.9]));
      }
      expect(findModels(again)).toEqual(['a', 'b']);
      expect(again.rules.map(buildStates)).toEqual(watch.rules.map(buildStates));
    });

    test('counts a bounded number of parts, and those that found no place', () => {
      const watch = watchSplit();
      const models = Array.from({ length: MAX_SERIES + 3 }, (_, index) => `m${index}`);
      foldGroup(watch, 0, ofModels(0, models, [0.9]));
      expect(watch.rules[0]?.candidates.size).toBe(MAX_SERIES);
      expect(watch.overflow).toBe(3);
    });

    test('is another when it splits otherwise', () => {
      const keys = [
        RULE,
        { ...RULE, split },
        { ...RULE, split: { ...split, minDailyScores: 4 } },
        { ...RULE, split: { ...split, by: ['service'] as const } },
      ].map((rule) => computeRuleKey(GROUP, rule));
      expect(new Set(keys).size).toBe(keys.length);
    });
  });

  test('has the key under which its states were stored before rules could split', () => {
    expect(computeRuleKey(GROUP, RULE)).toBe('bc84003d54f5c2e2d77ff251f8c348b2');
  });

  test('changes when the detection of a rule changes, not when its texts change', () => {
    const key = computeRuleKey(GROUP, RULE);
    expect(computeRuleKey(GROUP, { ...RULE, labels: { severity: 'page' }, annotations: { a: 'b' } })).toBe(
      key,
    );
    expect(computeRuleKey(GROUP, { ...RULE, detection: { kind: 'floor', minimum: 0.6 } })).not.toBe(key);
    expect(computeRuleKey(GROUP, { ...RULE, series: { agent: 'weather' } })).not.toBe(key);
    expect(computeRuleKey({ ...GROUP, falseAlarmBudget: 2 }, RULE)).not.toBe(key);
  });
});

const DAY_MS = 24 * HOUR_MS;
const FLOOR = 20;

/** Traffic after scores at hours since the epoch. */
function after(...scores: readonly (readonly [hour: number, count: number])[]) {
  return scores.reduce(
    (traffic, [hour, count]) => countTraffic(traffic, hour * HOUR_MS, count, FLOOR),
    NO_TRAFFIC,
  );
}

describe('the traffic of a part', () => {
  test('reaches the floor with the score of a day that makes it up, whenever in the day', () => {
    expect(hasTraffic(after([1, 10], [23, 9]), 23 * HOUR_MS)).toBe(false);
    expect(hasTraffic(after([1, 10], [23, 10]), 23 * HOUR_MS)).toBe(true);
  });

  test('is counted by days, not over midnight', () => {
    expect(hasTraffic(after([23, 19], [24, 19]), DAY_MS)).toBe(false);
  });

  test('keeps its place for a week below the floor, not for longer', () => {
    const traffic = after([1, FLOOR], [30, 1], [150, 1]);
    expect(hasTraffic(traffic, 8 * DAY_MS - 1)).toBe(true);
    expect(hasTraffic(traffic, 8 * DAY_MS)).toBe(false);
    expect(hasTraffic(countTraffic(traffic, 7 * DAY_MS, FLOOR, FLOOR), 8 * DAY_MS)).toBe(true);
  });
});
