/**
 * Tells whether the agent or its judge changed, on the streams of the drift bench with planted changes of both.
 * `node test/bench/anchors.ts [--runs 120] [--seed 1] [--rate 60] [--noise 0.05] [--size 60]`
 */
import { parseArgs } from 'node:util';
import { atMost, head, row, share, sumUp, verdictOn } from './bench-table.ts';
import { isSpreadFamily, KINDS, type Kind, listPlanted, playRun, SHIFTS } from './trust/judge-changes.ts';

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '60' },
    noise: { type: 'string', default: '0.05' },
    size: { type: 'string', default: '60' },
  },
});
const [runs, seed, perHour, noise, size] = [
  options.runs,
  options.seed,
  options.rate,
  options.noise,
  options.size,
].map(Number) as [number, number, number, number, number];

/** Most misattributed runs, most false alarms about a judge in a month, and most time to the verdict, in times to the alarm. */
const GOALS = { wrong: 2, falseAlarms: 5, delay: 1.5 };

const quantile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))] ?? 0;

console.log(
  `seed ${seed}, ${runs} runs of each kind, ${perHour} scores an hour, noise ${noise}, ${size} anchors`,
);
head(
  'Verdicts',
  'changed',
  'shift',
  'incidents',
  'agent',
  'judge',
  'both',
  'unknown',
  'delay: median (p95)',
  'goals',
);
let [wrong, all] = [0, 0];
const verdicts: { readonly isSpread: boolean; readonly isUnknown: boolean }[] = [];
for (const kind of KINDS.filter((each) => each !== 'none')) {
  const played = listPlanted(kind, runs, { seed, perHour, noise, size }).map((planted) => ({
    planted,
    told: playRun(planted),
  }));
  verdicts.push(
    ...played
      .filter(({ told: { who } }) => who !== null)
      .map(({ planted: { family }, told: { who } }) => ({
        isSpread: isSpreadFamily(family),
        isUnknown: who === 'unknown',
      })),
  );
  for (const shift of SHIFTS) {
    const told = played.filter(({ planted }) => planted.shift === shift).map((each) => each.told);
    const found = told.filter(({ who }) => who !== null);
    const count = (who: string) => found.filter((each) => each.who === who).length;
    const misses = found.filter(({ who }) => who !== kind && who !== 'unknown').length;
    wrong += misses;
    all += found.length;
    const delays = found
      .filter(({ who }) => who !== 'unknown')
      .map(({ firedMs, toldMs }) => (toldMs ?? 0) / Math.max(1, firedMs ?? 1));
    row(
      kind,
      String(shift),
      `${found.length} of ${told.length}`,
      ...['agent', 'judge', 'both', 'unknown'].map((who) => String(count(who))),
      `${quantile(delays, 0.5).toFixed(2)} (${quantile(delays, 0.95).toFixed(2)})`,
      verdictOn(`${kind} ${shift}`, [atMost(quantile(delays, 0.95), GOALS.delay, '× the alarm')]),
    );
  }
}
head('Sums', 'what', 'figure', 'goals');
row(
  'misattributed',
  share(wrong, all),
  verdictOn('misattributed', [atMost((100 * wrong) / all, GOALS.wrong, '%')]),
);
for (const isSpread of [true, false]) {
  const own = verdicts.filter((each) => each.isSpread === isSpread);
  const unknown = own.filter(({ isUnknown }) => isUnknown).length;
  row(`unknown, judges of ${isSpread ? 'many' : 'few'} values`, share(unknown, own.length), '–');
}
const calm = listPlanted('none' satisfies Kind, runs, { seed, perHour, noise, size }).map(playRun);
const falseAlarms = calm.filter(({ judgeFiredMs }) => judgeFiredMs !== null).length;
row(
  'alerts about an unchanged judge in 30 days',
  share(falseAlarms, calm.length),
  verdictOn('false alarms', [atMost((100 * falseAlarms) / calm.length, GOALS.falseAlarms, '%')]),
);
sumUp();
