import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { configuredMonitors, buildMonitorGroups } from '../../../../src/monitors/live/configured-monitors.ts';
import { monitorFileSchema } from '../../../../src/config/schema/monitors.ts';
import { computeRuleKey } from '../../../../src/monitors/group-watch.ts';
import type { MonitorGroup, MonitorRule } from '../../../../src/monitors/rule.ts';
import { isSelected } from '../../../../src/monitors/series-key.ts';
import { A_SERIES } from '../../../support/fakes/memory-monitors.ts';

/** A file with one rule. */
function buildFile(rule: Record<string, unknown>) {
  const detector = { alert: 'A', detector: 'floor', minimum: 0.5 };
  return { groups: [{ name: 'quality', rules: [{ ...detector, ...rule }] }] };
}

function findSplit(rule: Record<string, unknown>) {
  return buildMonitorGroups(monitorFileSchema.parse(buildFile(rule)).groups)[0]?.rules[0]?.split;
}

function watchedRows(scorer: string | undefined, rows: readonly string[]): string[] {
  const groups = monitorFileSchema.parse(buildFile({ series: { scorer } })).groups;
  const rule = buildMonitorGroups(groups, ['tone-of-voice', 'panel-of-mine'])[0]?.rules[0] as MonitorRule;
  return rows.filter((row) => isSelected(rule, { ...A_SERIES, scorer: row }));
}

describe('the scorer of a rule', () => {
  test.each([
    ['panel', ['panel', 'panel-toxicity', 'panel-instructions']],
    ['panel-toxicity', ['panel-toxicity']],
    ['panel-of-mine', ['panel-of-mine', 'panel-of-mine/panel-bias']],
    ['tone', ['tone']],
    ['tone-of-voice', ['tone-of-voice', 'tone-of-voice/warmth']],
    ['retired', ['retired/first']],
  ])('%s means all rows that it writes, and none of another scorer', (scorer, watched) => {
    const rows = [
      'panel',
      'panel-toxicity',
      'panel-instructions',
      'panel-of-mine',
      'panel-of-mine/panel-bias',
      'tone',
      'tone-of-voice',
      'tone-of-voice/warmth',
      'retired/first',
    ];
    expect(watchedRows(scorer, rows)).toEqual(watched);
    expect(watchedRows(undefined, rows)).toEqual(rows);
  });

  test('keeps its key in the store when a scorer with a longer name is added', () => {
    const { groups } = monitorFileSchema.parse(buildFile({ series: { scorer: 'tone' } }));
    const keys = [[], ['tone-of-voice']].map((own) => {
      const [group] = buildMonitorGroups(groups, own) as [MonitorGroup];
      return computeRuleKey(group, group.rules[0] as MonitorRule);
    });
    expect(keys[0]).toBe(keys[1]);
  });
});

describe('the series of a rule', () => {
  const read = async (series: Record<string, string>) => {
    const config = parseConfig({
      scorers: {
        strict: { use: 'grounding' },
        mine: { module: new URL(import.meta.url).pathname },
      },
      rules: [
        {
          name: 'a',
          scorers: ['behaviour', 'mine'],
          where: { agent: ['shop', 'cart'], environment: 'production' },
        },
        { name: 'b', scorers: ['behaviour'], where: { agent: 'till', not: { environment: 'test' } } },
        { name: 'c', scorers: ['tone'], target: 'agent', where: { agent: 'shop' } },
        { name: 'd', scorers: ['toxicity'], where: { not: { agent: 'shop' } } },
      ],
      judges: { default: 'openai/gpt-5-mini' },
      monitors: [monitorFileSchema.parse(buildFile({ series }))],
    });
    return (await configuredMonitors(config)).length;
  };

  test.each([
    {},
    { scorer: 'behaviour' },
    { scorer: 'behaviour-steps', agent: 'till', environment: 'staging' },
    { scorer: 'faithfulness', agent: 'anybody' },
    { scorer: 'strict/grounding-faithfulness' },
    { scorer: 'mine-warmth', agent: 'cart' },
    { scorer: 'tone', agent: 'called-by-shop' },
    { scorer: 'behaviour', target: 'session', agent: 'anybody' },
    { scorer: 'toxicity', agent: 'cart' },
    { agent: 'anybody' },
  ])('can be %j: something may score it', async (series) => {
    expect(await read(series)).toBe(1);
  });

  test.each([
    [{ scorer: 'behavior' }, 'series.scorer: there is no scorer behavior; did you mean behaviour?'],
    [{ scorer: 'grounding-faithfullness' }, 'did you mean grounding-faithfulness?'],
    [{ scorer: 'strict/grounding-faith' }, 'did you mean strict/grounding-faithfulness?'],
    [{ scorer: 'hallucination-x' }, 'did you mean hallucination?'],
    [{ scorer: 'thumbs' }, 'there is no scorer thumbs; the scorers are '],
    [{ scorer: 'mine', agent: 'till' }, 'series.agent: no rule gives this monitor scores of the agent till'],
    [{ scorer: 'behaviour', agent: 'shopp' }, 'did you mean shop?'],
    [{ scorer: 'toxicity', agent: 'shop' }, 'no rule gives this monitor scores of the agent shop'],
    [{ scorer: 'mine', environment: 'test' }, 'series.environment: no rule gives this monitor'],
  ])('cannot be %j: nothing scores it', async (series, message) => {
    await expect(read(series)).rejects.toThrow(message);
  });
});

describe('a rule that splits its series', () => {
  test('does so in one order, for any order in the file', () => {
    const split = { by: ['model', 'agentVersion', 'service'], minDailyScores: 20 };
    expect(findSplit({ by: ['service', 'model', 'agentVersion'] })).toEqual(split);
    expect(findSplit({ by: ['agentVersion', 'service', 'model'] })).toEqual(split);
  });

  test('has its own minimum of traffic', () => {
    expect(findSplit({ by: ['model'], minDailyScores: 5 })).toEqual({ by: ['model'], minDailyScores: 5 });
  });

  test.each([{}, { by: [] }, { minDailyScores: 5 }])('is none with %j', (rule) => {
    expect(findSplit(rule)).toBeUndefined();
  });

  test.each([
    ['a facet twice', { by: ['model', 'model'] }, /lists a name twice/],
    ['what is no facet', { by: ['user'] }, /model/],
    ['no traffic', { by: ['model'], minDailyScores: 0 }, /minDailyScores/],
    [
      'a detector of outcomes',
      { detector: 'coverage', minimum: 0.9, by: ['model'] },
      /unrecognized_keys.*by/,
    ],
    [
      'a detector of silence',
      { detector: 'no_data', minimum: undefined, by: ['model'] },
      /unrecognized_keys.*by/,
    ],
  ])('refuses %s', (_, rule, message) => {
    const parsed = monitorFileSchema.safeParse(buildFile(rule));
    expect(JSON.stringify(parsed.error?.issues)).toMatch(message);
  });
});
