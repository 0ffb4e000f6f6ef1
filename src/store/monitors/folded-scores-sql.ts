import { SCORE_STEPS } from '../../monitors/bucket.ts';
import { FIRST_RANGES, type Measure, nameMeasure } from '../../domain/behaviour/measures.ts';
import { HOUR_MS, MINUTE_MS } from '../../domain/durations.ts';

/**
 * Longest delay of a score after the last span of its trace, milliseconds; a later score belongs to another time than its
 * bucket.
 */
const MAX_DELAY_MS = HOUR_MS;

/**
 * Least time, milliseconds, by which a span after the score shows that only the sampling of the row is new: its score was folded when it
 * was written first. A smaller time may be an error of clocks.
 */
const LEAST_REWEIGHED_MS = MINUTE_MS;

/** Time within which the same score again is a repeat (a crash between two writes, two owners at once), milliseconds. */
export const REPEAT_WINDOW_MS = HOUR_MS;

/**
 * Directed score of `score_arrivals` and `scores`: from 0 (worst) to 1 (best); NULL when the scorer has no range or no
 * direction.
 */
export const DIRECTED = `multiIf(
  NOT isFinite(Score) OR HigherIsBetter IS NULL OR NOT ifNull(ScoreMax > ScoreMin, false), NULL,
  HigherIsBetter, least(1, greatest(0, (Score - ScoreMin) / (ScoreMax - ScoreMin))),
  1 - least(1, greatest(0, (Score - ScoreMin) / (ScoreMax - ScoreMin))))`;

/** Directed score of `score_arrivals` and `scores` in thousandths. */
export const STEP = `toUInt16(floor(ifNull(${DIRECTED}, 0) * ${SCORE_STEPS} + 0.5))`;

/** Condition for the measures of a new agent, whose range comes from no run of it. */
export const IS_OF_NEW_AGENT = `(${Object.entries(FIRST_RANGES)
  .map(([name, range]) => `endsWith(Scorer, '${nameMeasure(name as Measure)}') AND ScoreMax = ${range}`)
  .join(' OR ')})`;

/** Reason why a row of `score_arrivals` is not folded, or `folded`; does not detect repeats within the window. */
export const STANDING = `multiIf(
  Source != 'live', 'not_live',
  Revision > 1, 'rescored',
  DelayMs < -${LEAST_REWEIGHED_MS}, 'repeated',
  Stratum != 'uniform', 'not_uniform',
  DelayMs > ${MAX_DELAY_MS}, 'late',
  ${DIRECTED} IS NULL, 'refused',
  ${IS_OF_NEW_AGENT}, 'new_agent',
  'folded')`;

/**
 * Unit of observation in a row of `score_arrivals` and `scores`: the trace, or the session. Scores of one trace depend on each
 * other, so the mean of the folded scores of a unit in a bucket counts as one score.
 */
export const UNIT = `if(TraceId = '', toString(ScoreId), TraceId)`;

/** Mean of the steps (`STEP`) of the rows of a unit, rounded half up; `condition` selects the rows. 0 without such a row. */
export function meanStep(step: string, condition: string): string {
  const count = `greatest(countIf(${condition}), 1)`;
  return `toUInt16(intDiv(2 * sumIf(${step}, ${condition}) + ${count}, 2 * ${count}))`;
}
