import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  computeJudgedPerSecond,
  computeNeeds,
  computeScoreUsd,
  FIGURES,
  fillTables,
  type Figure,
  type Load,
  type Needs,
} from '../../tools/docs/capacity-page.ts';
import { METRICS, prometheusName, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/capacity.md');
const figures = read('docs/evidence/store.md');

describe('docs/capacity.md', () => {
  it('has the tables of the arithmetic (after a change: vitest run --project contract capacity-page -u)', async () => {
    await expect(fillTables(page)).toMatchFileSnapshot('../../docs/capacity.md');
    await expect(fillTables(figures)).toMatchFileSnapshot('../../docs/evidence/store.md');
  });

  it('has all four tables, each with rows', () => {
    const tables = [...`${page}${figures}`.matchAll(/<!-- table: ([\w ]+) -->\n([^]*?)<!-- end -->/g)];

    expect(tables.map(([, name]) => name)).toEqual(['loads', 'a million spans', 'judges', 'figures']);
    expect(tables.filter(([, , text = '']) => text.split('\n').length < 5)).toEqual([]);
  });

  it('adds the cores that every process needs together, as they were measured', () => {
    expect(page).toContain(`**Add ${FIGURES.idleCores.value} cores** to the sum`);
  });

  it('names commands that the package has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const commands = [...figures.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);

    expect(commands).toContain('bench:ingest');
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    expect(
      Object.values<Figure>(FIGURES).filter(({ command }) => !figures.includes(`\`${command}\``)),
    ).toEqual([]);
  });

  it('names metrics that a process has', () => {
    const known = new Set(
      Object.entries<MetricSpec>(METRICS).map(([name, spec]) => prometheusName(name, spec)),
    );
    const named = [...page.matchAll(/\b(?:spanscore|process)_[a-z_]+/g)].map(([name]) => name);

    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

function aLoad(more: Partial<Load> = {}): Load {
  return {
    spansPerSecond: 1_000,
    spansPerTrace: 8,
    judgedRate: 0.1,
    judgeMs: 2_000,
    price: { input: 1, output: 10 },
    ...more,
  };
}

describe('the arithmetic of the capacity', () => {
  it('gives the judged scores of both measured floods within 3 %', () => {
    const fits = [
      computeJudgedPerSecond(32, 200) / FIGURES.judgedPerSecondAt200Ms.value,
      computeJudgedPerSecond(32, 500) / FIGURES.judgedPerSecondAt500Ms.value,
    ];

    expect(Math.min(...fits)).toBeGreaterThan(0.97);
    expect(Math.max(...fits)).toBeLessThan(1.03);
  });

  it('prices a score by its tokens', () => {
    const { inputTokens, outputTokens } = FIGURES;

    expect(computeScoreUsd({ input: 1, output: 0 })).toBeCloseTo(inputTokens.value / 1e6, 12);
    expect(computeScoreUsd({ input: 0, output: 1 })).toBeCloseTo(outputTokens.value / 1e6, 12);
  });

  it('counts traces, calls, places and money', () => {
    const needs = computeNeeds(aLoad());

    expect(needs.tracesPerSecond).toBe(125);
    expect(needs.callsPerSecond).toBe(12.5);
    // A place makes a call in a little more than 2 s.
    expect(needs.places).toBeGreaterThan(25);
    expect(needs.places).toBeLessThan(26);
    expect(needs.usdPerDay).toBeCloseTo(12.5 * 86_400 * computeScoreUsd({ input: 1, output: 10 }), 6);
  });

  it('adds up the cores of receivers, inserts, code scorers and judged scorers', () => {
    const { receiverCores, insertCores, codeCores, judgedCores, cores } = computeNeeds(aLoad());

    expect(receiverCores).toBeCloseTo((1_000 * FIGURES.receiveUs.value) / 1e6, 9);
    expect(codeCores).toBeCloseTo((125 * FIGURES.codeTraceMs.value) / 1_000, 9);
    expect(cores).toBeCloseTo(receiverCores + insertCores + codeCores + judgedCores, 9);
  });

  it('keeps rows of spans for 30 days and rows of scores for 400', () => {
    const { spanBytes, scoreBytes, bytesPerDay } = computeNeeds(aLoad({ judgedRate: 0 }));

    expect(scoreBytes).toBeCloseTo(400 * 86_400 * 125 * FIGURES.traceLongDiskBytes.value, -3);
    expect(spanBytes / 30 + scoreBytes / 400).toBeCloseTo(bytesPerDay, -3);
  });

  it.each<keyof Needs>([
    'cores',
    'bytesPerDay',
    'networkBytesPerSecond',
    'callsPerSecond',
    'usdPerDay',
    'places',
  ])('lets %s grow in proportion with the load', (name) => {
    const grown = computeNeeds(aLoad({ spansPerSecond: 7_000 }))[name];

    expect(grown / computeNeeds(aLoad())[name]).toBeCloseTo(7, 9);
  });

  it('plans processes that are busy for at most 60 % of the time', () => {
    const { receivers, receiverCores, scorers } = computeNeeds(
      aLoad({ spansPerSecond: 100_000, judgedRate: 0 }),
    );

    expect(receiverCores / receivers).toBeLessThanOrEqual(0.6);
    expect(12_500 / scorers).toBeLessThanOrEqual(0.6 * FIGURES.codeTracesPerSecond.value);
  });
});
