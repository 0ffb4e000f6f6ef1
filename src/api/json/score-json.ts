import { SCORES, scoreVersion, type Score } from '../../domain/score.ts';
import { rowJson } from './row-json.ts';

/** Formats a score row as JSON. */
export function scoreJson(score: Score) {
  return { ...rowJson(SCORES, score), version: scoreVersion(score).toString() };
}
