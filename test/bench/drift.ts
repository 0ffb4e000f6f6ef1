/**
 * Measures how our detectors and the classic ones find falls of a mean, on the same seeded streams: false alarms in 30 days
 * without a change, scores until a fall is found, alarms an incident, and the speed of the checks. `node test/bench/drift.ts
 * [--repetitions 300] [--classics 40] [--lasting 100] [--rates 6,60,600] [--seed 1]`; `--seed` is that of the first series
 */
import { parseArgs } from 'node:util';
import { driftDetector } from '../../src/monitors/detectors/drift.ts';
import { type Contender, buildContender } from '../support/monitors/drift-simulation.ts';
import { ONE_SERIES } from '../support/monitors/fold-scores.ts';
import { FAMILIES } from '../support/builders/score-streams.ts';
import { head, row, shown, sumUp, verdictOn } from './bench-table.ts';
import { adwin } from './drift/adwin.ts';
import { checksPerSecond } from './drift/fold-speed.ts';
import { driftGoals } from './drift/goals.ts';
import { tellLastingFalls } from './drift/lasting-falls.ts';
import { bareThreshold, patientThreshold } from './drift/hour-threshold.ts';
import { kolmogorovSmirnov } from './drift/kolmogorov-smirnov.ts';
import { pageHinkley } from './drift/page-hinkley.ts';
import {
  DROPS,
  firedEach,
  quantile,
  recordStream,
  type Stream,
  type StreamRecord,
} from './drift/stream-record.ts';
import { welch } from './drift/welch.ts';

const KINDS = [...FAMILIES, 'clumps'] as const;

const { values: options } = parseArgs({
  options: {
    repetitions: { type: 'string', default: '300' },
    classics: { type: 'string', default: '40' },
    rates: { type: 'string', default: '6,60,600' },
    families: { type: 'string', default: KINDS.join(',') },
    lasting: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
});
const repetitions = Number(options.repetitions);
const classics = Math.min(Number(options.classics), repetitions);
const rates = options.rates.split(',').map(Number);
const families = KINDS.filter((family) => options.families.split(',').includes(family));

const REFERENCE = { days: 14, minScores: 300, minDays: 3 };
const OURS: readonly Contender[] = [
  buildContender(
    'drift',
    driftDetector({ tolerance: 0.02, reference: REFERENCE, direction: 'down', thresholds: ONE_SERIES }),
  ),
];
const CONTENDERS: readonly Contender[] = [
  ...OURS,
  bareThreshold(),
  patientThreshold(),
  kolmogorovSmirnov(0.05),
  welch(),
  adwin(),
  pageHinkley(),
];

interface Measured {
  readonly stream: Stream;
  readonly repetitions: number;
  readonly records: readonly StreamRecord[];
}

function measureAll(): Measured[] {
  const streams = rates.flatMap((perHour) => families.map((family) => ({ family, perHour })));
  return streams.map((stream) => {
    const computeTimes = (times: number): number =>
      stream.perHour > 60 ? Math.max(1, Math.round(times / 3)) : times;
    const [byFew, byAll] = [computeTimes(repetitions), computeTimes(classics)];
    const firstSeed = Number(options.seed);
    const records = recordStream(stream, {
      contenders: CONTENDERS,
      byAll,
      byFew,
      few: OURS.length,
      firstSeed,
    });
    console.error(`${formatName(stream)}: ${byFew} series, seeds from ${firstSeed}`);
    return { stream, repetitions: byFew, records };
  });
}

function formatName({ family, perHour }: Stream): string {
  return `${family} ${perHour}/h`;
}

function table(
  title: string,
  measured: readonly Measured[],
  formatCell: (record: StreamRecord) => string,
): void {
  head(title, 'stream', ...CONTENDERS.map(({ name }) => name));
  for (const { stream, records } of measured) {
    row(formatName(stream), ...records.map(formatCell));
  }
}

function scoresShown(scores: number): string {
  return Number.isFinite(scores) ? String(scores) : 'missed';
}

function tell(measured: readonly Measured[]): void {
  table('False alarms in 30 days', measured, ({ quiet }) => shown(firedEach(quiet)));
  for (const drop of DROPS) {
    table(`Scores until a fall of ${drop} is found: median (p90)`, measured, ({ delays }) => {
      const found = delays[drop];
      return `${scoresShown(quantile(found, 0.5))} (${scoresShown(quantile(found, 0.9))})`;
    });
  }
  table(
    'Alarms in an incident of 5 days, or of 1,100 scores (and in the 13 days around it)',
    measured,
    ({ during, around }) => `${firedEach(during).toFixed(2)} (${firedEach(around).toFixed(2)})`,
  );
  head('drift against its goals', 'stream', 'series', 'goals');
  for (const { stream, records, repetitions: times } of measured) {
    const [record] = records;
    row(
      formatName(stream),
      String(times),
      verdictOn(formatName(stream), record === undefined ? [] : driftGoals(stream, record)),
    );
  }
}

if (repetitions > 0) {
  tell(measureAll());
}
tellLastingFalls({ rates, families, repetitions: Number(options.lasting) });
head(
  'Speed of drift over 10,000 series, on one core',
  'scores an hour and series',
  'million checks a second',
);
for (const perHour of rates) {
  row(String(perHour), checksPerSecond(perHour) / 1e6);
}
sumUp();
