import { scoreVersion, type Score } from '../../domain/score.ts';
import { isoTime } from './time-json.ts';

/** Formats a score row as JSON: the columns of the table in camelCase, times in ISO 8601. */
export function scoreJson(score: Score) {
  return {
    ...score,
    traceTimestamp: isoTime(score.traceTimestamp),
    scoredAt: isoTime(score.scoredAt),
    evidenceUntil: isoTime(score.evidenceUntil),
    version: scoreVersion(score).toString(),
  };
}
