/**
 * Explains changes with a planted cause, among correlated dimensions, different levels and shifts of the mix; and the time for a million
 * scores. `node test/bench/attribution.ts [--incidents 200] [--seed 1] [--rows 1000000]`
 */
import { parseArgs } from 'node:util';
import { explainChange } from '../../src/monitors/attribution/explain-change.ts';
import { FactTable } from '../../src/monitors/attribution/fact-table.ts';
import { normalCdf } from '../../src/monitors/attribution/find-causes.ts';
import { atLeast, atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { drawIncident, NOISE, type Planted, PLANTED } from './trust/incidents.ts';

const { values: options } = parseArgs({
  options: {
    incidents: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    rows: { type: 'string', default: '1000000' },
  },
});
const incidents = Number(options.incidents);
const seed = Number(options.seed);

/** Normal quantile that a test of one in 1,500 candidates has to pass at 5 %. */
const PASSING = 3.99;

/** Normal quantile of 0.995: a change below it raises no alarm. */
const BEYOND_CHANCE = 2.576;

/** Chance that a test passes whose statistic exceeds its bound by so much on the average. */
const findChance = (excess: number) => (excess < 0 ? 1 - normalCdf(-excess) : normalCdf(excess));

function explainIncident(planted: Planted, turn: number, runs?: number) {
  const { rows, truth, fall } = drawIncident(planted, { seed: seed * 7_919 + turn, runs });
  const table = new FactTable();
  const moments = { before: [0, 0, 0], after: [0, 0, 0] };
  let hit = 0;
  for (const { score, period, facets, isHit } of rows) {
    table.add(facets, period, { count: 1, weight: 1, sum: score, squares: score ** 2 });
    moments[period] = moments[period].map((sum, power) => sum + score ** power);
    hit += isHit && period === 'after' ? 1 : 0;
  }
  const explanation = explainChange(table.read());
  const variance = Object.values(moments).reduce(
    (sum, [n = 1, first = 0, second = 0]) => sum + (second / n - (first / n) ** 2) / n,
    0,
  );
  const change = explanation.change ?? 0;
  return {
    truth,
    explanation,
    /** The mean fell beyond chance. */
    isSeen: -change > BEYOND_CHANCE * Math.sqrt(variance),
    /** Chance that a test which knows the segment, its level and the spread finds it among all candidates. */
    bound: change < 0 ? findChance((fall * Math.sqrt(hit)) / NOISE - PASSING) : 0,
  };
}

const sorted = (segment: Readonly<Record<string, string>> = {}) =>
  Object.entries(segment)
    .map(([dimension, value]) => `${dimension} ${value}`)
    .toSorted()
    .join(' × ');

console.log(`seed ${seed}, ${incidents} incidents of each kind`);
head(
  'Incidents',
  'planted',
  'first cause right',
  'beyond chance',
  'of them right',
  'most that can be found',
  'named a cause',
  'verdicts',
  'ms each',
  'goals',
);
for (const planted of PLANTED) {
  let [right, named, seen, rightOfSeen, bound] = [0, 0, 0, 0, 0];
  const verdicts = new Map<string, number>();
  const startedMs = performance.now();
  for (let turn = 1; turn <= incidents; turn += 1) {
    const incident = explainIncident(planted, turn);
    const { verdict, causes } = incident.explanation;
    const isRight =
      planted === 'mix'
        ? verdict === 'mix'
        : incident.truth !== null && sorted(causes[0]?.segment) === sorted(incident.truth);
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    named += verdict === 'segment' ? 1 : 0;
    right += isRight ? 1 : 0;
    seen += incident.isSeen ? 1 : 0;
    rightOfSeen += incident.isSeen && isRight ? 1 : 0;
    bound += incident.bound;
  }
  const isFound = !['everywhere', 'none'].includes(planted);
  const goals = {
    everywhere: [atMost(named / incidents, 0.05, 'with a cause')],
    none: [atMost(named / incidents, 0.05, 'with a cause')],
  };
  row(
    planted,
    isFound ? right / incidents : '–',
    seen,
    isFound ? rightOfSeen / seen : '–',
    isFound && planted !== 'mix' ? bound / incidents : '–',
    named,
    [...verdicts].map(([verdict, count]) => `${verdict} ${count}`).join(', '),
    (performance.now() - startedMs) / incidents,
    verdictOn(
      planted,
      planted in goals ? goals[planted as keyof typeof goals] : [atLeast(rightOfSeen / seen, 0.95, 'right')],
    ),
  );
}

const rows = Number(options.rows);
if (rows > 0) {
  const startedMs = performance.now();
  const { explanation } = explainIncident('pair', 1, rows / 2);
  const peak = process.resourceUsage().maxRSS / 1_024;
  const seconds = (performance.now() - startedMs) / 1_000;
  head('Size', 'scores', 's with their making', 'MiB at most', 'verdict', 'first cause', 'goals');
  row(
    String(rows),
    seconds,
    peak,
    explanation.verdict,
    sorted(explanation.causes[0]?.segment),
    verdictOn(`${rows} scores`, [
      atMost((seconds * 1e6) / rows, 60, 's a million'),
      atMost(peak, 1_024, 'MiB'),
    ]),
  );
}
sumUp();
