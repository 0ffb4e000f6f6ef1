/**
 * Simulates the states of issues: false alarms of calm issues, delays of rises and returns, verifications, and the coverage of shares of
 * sampled runs. `node test/bench/issues-states.ts [--streams 100] [--seed 1]`
 */
import { parseArgs } from 'node:util';
import { DAY_MS } from '../../src/domain/durations.ts';
import { estimateShare } from '../../src/issues/read-issues.ts';
import { boundShare, verifyShare } from '../../src/issues/watch-share.ts';
import { seededRandom } from '../support/builders/score-streams.ts';
import { drawHours, type IssueStream, lookAt, watchReturn } from '../support/builders/issue-streams.ts';
import { atLeast, atMost, head, row, sumUp, verdictOn } from './bench-table.ts';

const { values: options } = parseArgs({
  options: { streams: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
});
const streams = Number(options.streams);
const seed = Number(options.seed);
const numbers = Array.from({ length: streams }, (_, index) => seed * 10_007 + index);
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

const SHAPES: readonly Omit<IssueStream, 'seed' | 'days'>[] = [
  { share: 0.003, perHour: 200, rate: 1 },
  { share: 0.01, perHour: 20, rate: 1 },
  { share: 0.01, perHour: 200, rate: 1, day: 0.7 },
  { share: 0.01, perHour: 2_000, rate: 0.05 },
  { share: 0.04, perHour: 200, rate: 0.05 },
  { share: 0.04, perHour: 200, rate: 1 },
];
const name = ({ share, perHour, rate, day = 0 }: (typeof SHAPES)[number]) =>
  `${100 * share} % of ${perHour}/h${rate < 1 ? `, ${100 * rate} % read` : ''}${day > 0 ? ', day and night' : ''}`;

console.log(`seed ${seed}, ${streams} streams of each kind, 20 issues an agent, budget 1`);
head('Calm for 60 days', 'stream', 'false escalating a month', 'false fading a month', 'goal');
for (const shape of SHAPES) {
  const states = numbers.map((one) => lookAt(drawHours({ ...shape, days: 60, seed: one }), 20));
  const begins = (wanted: string) =>
    states.flatMap((list) =>
      list.filter(({ state }, at) => state === wanted && list[at - 1]?.state !== wanted),
    ).length /
    (2 * streams);
  const escalating = begins('escalating');
  row(
    name(shape),
    escalating.toFixed(3),
    begins('fading').toFixed(3),
    verdictOn(name(shape), [atMost(escalating, 0.05, 'a month')]),
  );
}

head('Rises three times on day 20', 'stream', 'found', 'median days', 'goal');
for (const shape of SHAPES) {
  const delays = numbers.flatMap((one) => {
    const hours = drawHours({ ...shape, days: 34, seed: one, change: { day: 20, share: 3 * shape.share } });
    const found = lookAt(hours, 20).find(({ state, atMs }) => state === 'escalating' && atMs >= 20 * DAY_MS);
    return found === undefined ? [] : [found.atMs / DAY_MS - 20];
  });
  const part = delays.length / streams;
  row(
    name(shape),
    `${Math.round(100 * part)} %`,
    median(delays).toFixed(2),
    verdictOn(name(shape), [atLeast(part, 0.95, 'found')]),
  );
}

head('Resolved on day 20', 'stream', 'back on day 27: found', 'median runs', 'stays away: false', 'goal');
for (const shape of SHAPES) {
  const returns = numbers.map((one) => watchReturn({ ...shape, seed: one, backDay: 27 }));
  const calm = numbers.map((one) => watchReturn({ ...shape, seed: one, backDay: null }));
  const found = returns.filter((runs) => runs !== null);
  const wrong = calm.filter((runs) => runs !== null).length / streams;
  const part = found.length / streams;
  row(
    name(shape),
    `${Math.round(100 * part)} %`,
    String(median(found)),
    wrong.toFixed(3),
    verdictOn(name(shape), [atLeast(part, 0.95, 'found'), atMost(wrong, 0.05, 'false')]),
  );
}

head(
  'Resolved in a version, looked at after each 20 runs',
  'share before → since',
  'verified',
  'not verified',
  'median runs',
  'goal',
);
for (const [before, since, wanted] of [
  [0.02, 0, 'verified'],
  [0.02, 0.001, 'verified'],
  [0.02, 0.02, 'not-verified'],
  [0.1, 0, 'verified'],
  [0.1, 0.1, 'not-verified'],
  [0.02, 0.005, null],
] as const) {
  const rate = { value: before, low: before, high: before, n: 5_000 };
  const decided = numbers.map((one) => {
    const random = seededRandom(one);
    let failing = 0;
    for (let runs = 20; runs <= 20_000; runs += 20) {
      failing += Array.from({ length: 20 }, random).filter((drawn) => drawn < since).length;
      const range = boundShare({ startMs: 0, runs, weights: [1], counts: [failing] });
      const state = verifyShare(rate, { ...range, value: failing / runs, n: runs });
      if (state !== 'running') {
        return { state, runs };
      }
    }
    return { state: 'running', runs: Infinity };
  });
  const part = (state: string) => decided.filter((each) => each.state === state).length / streams;
  row(
    `${100 * before} % → ${100 * since} %`,
    part('verified').toFixed(2),
    part('not-verified').toFixed(2),
    String(median(decided.map(({ runs }) => runs))),
    verdictOn(
      `${100 * before} % → ${100 * since} %`,
      wanted === null
        ? [atMost(part('verified') + part('not-verified'), 0.05, 'decided')]
        : [atLeast(part(wanted), 0.95, wanted)],
    ),
  );
}

head(
  'Intervals of 200 streams of 20,000 runs, 5 % read, all runs with an error read',
  'share',
  'runs with an error',
  'cover the share',
  'cover the share of these runs',
  'goal',
);
for (const [share, errors] of [
  [0.005, 0],
  [0.01, 0],
  [0.01, 0.3],
  [0.03, 0.3],
  [0.03, 1],
  [0.2, 0.1],
] as const) {
  let [covered, ofRuns] = [0, 0];
  for (let stream = 0; stream < 200; stream += 1) {
    const random = seededRandom(seed * 10_007 + stream);
    let [failing, seen, weight, excess] = [0, 0, 0, 0];
    for (let run = 0; run < 20_000; run += 1) {
      if (random() >= share) {
        continue;
      }
      failing += 1;
      const own = random() < errors ? 1 : random() < 0.05 ? 20 : 0;
      seen += Number(own > 0);
      weight += own;
      excess += own * Math.max(0, own - 1);
    }
    const rate = estimateShare([{ runs: seen, weight, excess }], [{ runs: 20_000 }]);
    covered += Number(rate !== null && rate.low <= share && share <= rate.high);
    ofRuns += Number(rate !== null && rate.low <= failing / 20_000 && failing / 20_000 <= rate.high);
  }
  row(
    `${100 * share} %`,
    `${100 * errors} %`,
    (covered / 200).toFixed(3),
    (ofRuns / 200).toFixed(3),
    verdictOn(`share ${share}`, [atLeast(covered / 200, 0.93, 'covered')]),
  );
}
sumUp();
