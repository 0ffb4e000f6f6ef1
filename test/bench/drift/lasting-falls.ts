import type { Family } from '../../support/builders/score-streams.ts';
import { DRIFT, buildReference, lastingFall, repeated } from '../../support/monitors/drift-simulation.ts';
import { atMost, head, row, shown, verdictOn } from '../bench-table.ts';
import { DROPS, quantile } from './stream-record.ts';

/** Goal of the mean number of alarms of a lasting fall, over all streams of a steady mean and all falls. */
const MOST_ALARMS = 1.02;

/** Prints the alarms of `drift` in a fall of thirty days, and the scores from its end to the end of the alarm. */
export function tellLastingFalls(terms: {
  readonly rates: readonly number[];
  readonly families: readonly Family[];
  readonly repetitions: number;
}): void {
  head(
    'drift in falls of thirty days (seeds from 1)',
    'stream',
    'fall',
    'series that found it',
    'alarms a fall',
    'scores from its end to the end of the alarm: median (p90), mean',
    'alarms in the 20 days after it',
  );
  const steady: number[] = [];
  for (const perHour of terms.rates) {
    const times = perHour > 60 ? Math.ceil(terms.repetitions / 5) : terms.repetitions;
    for (const family of terms.families) {
      for (const drop of DROPS) {
        const seen = repeated({ family, perHour }, times, (trial) => [
          lastingFall(trial, drop, buildReference(trial), DRIFT),
        ]);
        const fired = seen.map((one) => one.fired).filter((count) => count > 0);
        const recoveries = seen.map(({ recovery }) => recovery).filter((scores) => scores !== null);
        steady.push(...(family === 'wobble' ? [] : fired));
        row(
          `${family} ${perHour}/h`,
          String(drop),
          `${fired.length} of ${times}`,
          (sum(fired) / fired.length).toFixed(3),
          `${quantile(recoveries, 0.5)} (${quantile(recoveries, 0.9)}), ${Math.round(sum(recoveries) / recoveries.length)}`,
          shown(sum(seen.map(({ firedAfter }) => firedAfter)) / times),
        );
      }
    }
  }
  const each = sum(steady) / steady.length;
  head('drift in lasting falls against its goal', 'streams', 'alarms a fall', 'goal');
  row(
    'all but wobble',
    each.toFixed(3),
    verdictOn('lasting falls', [atMost(each, MOST_ALARMS, 'alarms a fall')]),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
