import { SCORE_STEPS } from '../../monitors/bucket.ts';

/** A score that took longer than this after its last span speaks of another time than that of its bucket, milliseconds. */
const MAX_DELAY_MS = 3_600_000;

/** The same score again within this time is a repeat (a crash between two writes, two owners at once), milliseconds. */
export const REPEAT_WINDOW_MS = 3_600_000;

/** Of `score_arrivals` and `scores`: within 0 (worst) and 1 (best); NULL where the scorer declared no range or no direction. */
export const DIRECTED = `multiIf(
  NOT isFinite(Score) OR HigherIsBetter IS NULL OR NOT ifNull(ScoreMax > ScoreMin, false), NULL,
  HigherIsBetter, least(1, greatest(0, (Score - ScoreMin) / (ScoreMax - ScoreMin))),
  1 - least(1, greatest(0, (Score - ScoreMin) / (ScoreMax - ScoreMin))))`;

/** Of `score_arrivals` and `scores`: the directed score in thousandths. */
export const STEP = `toUInt16(floor(ifNull(${DIRECTED}, 0) * ${SCORE_STEPS} + 0.5))`;

/** Of `score_arrivals`: why a row is not folded, or `folded`; repeats are not looked for. */
export const STANDING = `multiIf(
  Source != 'live', 'not_live',
  Revision > 1, 'rescored',
  Stratum != 'uniform', 'not_uniform',
  DelayMs > ${MAX_DELAY_MS}, 'late',
  ${DIRECTED} IS NULL, 'refused',
  'folded')`;
