import { thresholdDetector } from '../../../src/monitors/detectors/threshold.ts';
import { AT_ONCE } from '../../support/monitors/fold-scores.ts';
import { type Contender, buildContender } from '../../support/monitors/drift-simulation.ts';
import { buildCells } from './day-window.ts';
import { buildMoments } from './welch.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Distance of the line below the mean of the reference. */
const FALL = 0.1;

/** The mean of the last hour against a line: fires below it at any number of scores, ends above it. */
export function bareThreshold(): Contender {
  return {
    name: '1-h threshold',
    start(reference) {
      const minimum = buildMoments(buildCells(reference)).mean - FALL;
      const terms = { minimum, recovery: minimum, windowMs: HOUR_MS, minScores: 1 };
      return buildContender('', thresholdDetector(terms)).start(reference);
    },
  };
}

/** The same with what experience adds: at least 20 scores, below for half an hour, and an end half way up. */
export function patientThreshold(): Contender {
  return {
    name: '1-h threshold, n≥20, 30 m',
    start(reference) {
      const minimum = buildMoments(buildCells(reference)).mean - FALL;
      const terms = { minimum, recovery: minimum + FALL / 2, windowMs: HOUR_MS, minScores: 20 };
      const phases = { ...AT_ONCE, forMs: 30 * MINUTE_MS };
      return buildContender('', thresholdDetector(terms), phases).start(reference);
    },
  };
}
