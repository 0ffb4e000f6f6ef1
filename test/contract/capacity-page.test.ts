import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fillTables } from '../bench/fleet/capacity-tables.ts';
import { FIGURES, type Figure } from '../bench/fleet/measured-figures.ts';
import { METRICS, prometheusName, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/capacity.md');

describe('docs/capacity.md', () => {
  it('has the tables of the arithmetic (after a change: vitest run --project contract capacity-page -u)', async () => {
    await expect(fillTables(page)).toMatchFileSnapshot('../../docs/capacity.md');
  });

  it('has all five tables, each with rows', () => {
    const tables = [...page.matchAll(/<!-- table: ([\w ]+) -->\n([^]*?)<!-- end -->/g)];

    expect(tables.map(([, name]) => name)).toEqual([
      'loads',
      'a million spans',
      'judges',
      'simulation',
      'figures',
    ]);
    expect(tables.filter(([, , text = '']) => text.split('\n').length < 5)).toEqual([]);
  });

  it('adds the cores that every process needs together, as they were measured', () => {
    expect(page).toContain(`**Add ${FIGURES.idleCores.value} cores** to the sum`);
  });

  it('names commands that the package has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const commands = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);

    expect(commands).toContain('simulate:fleet');
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
    expect(Object.values<Figure>(FIGURES).filter(({ command }) => !page.includes(`\`${command}\``))).toEqual(
      [],
    );
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
