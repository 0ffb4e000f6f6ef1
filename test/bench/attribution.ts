/**
 * Explains changes with a planted cause, among correlated dimensions, different levels and shifts of the mix; and the time for a million
 * scores. `node test/bench/attribution.ts [--incidents 200] [--seed 1] [--rows 1000000]`
 */
import { parseArgs } from 'node:util';
import { explainChange } from '../../src/monitors/attribution/explain-change.ts';
import { FactTable } from '../../src/monitors/attribution/fact-table.ts';
import { atLeast, atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { drawIncident, type Planted, PLANTED } from './trust/incidents.ts';

const { values: options } = parseArgs({
  options: {
    incidents: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    rows: { type: 'string', default: '1000000' },
  },
});
const incidents = Number(options.incidents);
const seed = Number(options.seed);

function explainIncident(planted: Planted, turn: number, runs?: number) {
  const { rows, truth } = drawIncident(planted, { seed: seed * 7_919 + turn, runs });
  const table = new FactTable();
  for (const { score, period, facets } of rows) {
    table.add(facets, period, { count: 1, weight: 1, sum: score, squares: score ** 2 });
  }
  return { truth, explanation: explainChange(table.read()) };
}

const sorted = (segment: Readonly<Record<string, string>> = {}) =>
  Object.entries(segment)
    .map(([dimension, value]) => `${dimension} ${value}`)
    .toSorted()
    .join(' × ');

console.log(`seed ${seed}, ${incidents} incidents of each kind`);
head('Incidents', 'planted', 'first cause right', 'named a cause', 'verdicts', 'ms each', 'goals');
for (const planted of PLANTED) {
  let [right, named] = [0, 0];
  const verdicts = new Map<string, number>();
  const startedMs = performance.now();
  for (let turn = 1; turn <= incidents; turn += 1) {
    const { truth, explanation } = explainIncident(planted, turn);
    const { verdict, causes } = explanation;
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    named += verdict === 'segment' ? 1 : 0;
    right += truth !== null && sorted(causes[0]?.segment) === sorted(truth) ? 1 : 0;
  }
  const share = right / incidents;
  const goals = {
    mix: [atLeast((verdicts.get('mix') ?? 0) / incidents, 0.95, 'called mix')],
    everywhere: [atMost(named / incidents, 0.05, 'with a cause')],
    none: [atMost(named / incidents, 0.05, 'with a cause')],
  };
  row(
    planted,
    share,
    named,
    [...verdicts].map(([verdict, count]) => `${verdict} ${count}`).join(', '),
    (performance.now() - startedMs) / incidents,
    verdictOn(
      planted,
      planted in goals ? goals[planted as keyof typeof goals] : [atLeast(share, 0.95, 'right')],
    ),
  );
}

const rows = Number(options.rows);
if (rows > 0) {
  const startedMs = performance.now();
  const { explanation } = explainIncident('pair', 1, rows / 2);
  const peak = process.resourceUsage().maxRSS / 1_024;
  console.log(
    `\n${rows} rows: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s with their making, ${peak.toFixed(0)} MiB, ${explanation.verdict}, ${sorted(explanation.causes[0]?.segment)}`,
  );
}
sumUp();
