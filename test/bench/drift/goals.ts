import { atLeast, atMost, type Goal } from '../bench-table.ts';
import { firedEach, quantile, type Stream, type StreamRecord } from './stream-record.ts';

/** Streams whose scores have a standard deviation above 0.15, and that whose mean moves by itself. */
const WIDE: readonly string[] = ['infl', 'disc', 'bin97', 'wobble'];

/** Goals of `drift` on a kind of stream, with its results. */
export function driftGoals(stream: Stream, record: StreamRecord): Goal[] {
  const isWobble = stream.family === 'wobble';
  const medianDelay = quantile(record.delays[0.1], 0.5);
  const fired = firedEach(record.during) + firedEach(record.around);
  if (stream.family === 'clumps') {
    return incidentGoals(fired, [1, 1.05]);
  }
  return [
    atMost(firedEach(record.quiet), isWobble ? (stream.perHour > 60 ? 0.2 : 0.05) : 0.01, 'false alarms'),
    atMost(medianDelay, mostDelay(stream), 'scores to 0.1'),
    ...(stream.perHour > 60 ? [] : [atMost(quantile(record.delays[0.2], 0.5), 100, 'scores to 0.2')]),
    atMost(quantile(record.delays[0.1], 0.9) / medianDelay, mostSpread(stream), 'times the median at p90'),
    ...incidentGoals(fired, [0.97, 1.03]),
  ];
}

function incidentGoals(fired: number, [least, most]: readonly [number, number]): Goal[] {
  return [atLeast(fired, least, 'alarms an incident'), atMost(fired, most, 'alarms an incident')];
}

/** Scores until a fall of 0.1 is found: few where scores lie close, more where they are spread. */
export function mostDelay({ family, perHour }: Stream): number {
  if (!WIDE.includes(family)) {
    return perHour > 60 ? 110 : 80;
  }
  return perHour > 60 ? 540 : perHour > 6 ? 370 : 270;
}

/** Largest ratio of the 90th percentile to the median of its delays. */
export function mostSpread({ family }: Stream): number {
  return family === 'wobble' ? 2.5 : 2;
}
