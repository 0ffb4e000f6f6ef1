import type { Item } from '../api-types.ts';
import type { FilterField } from './query-filters.ts';
import { RANGES } from './query-filters.ts';

export type TraceRow = Item<'/traces'>;
export type ScoreBrief = TraceRow['scores'][number];

/** Filters of the list of traces. */
export const TRACE_FILTERS: readonly FilterField[] = [
  { name: 'since', label: 'Since', choices: RANGES },
  { name: 'service', label: 'Service' },
  { name: 'agent', label: 'Agent' },
  { name: 'environment', label: 'Environment' },
  { name: 'model', label: 'Model' },
  { name: 'serviceVersion', label: 'Service version' },
  { name: 'scorer', label: 'Scorer' },
  { name: 'min', label: 'Least score' },
  { name: 'max', label: 'Greatest score' },
  {
    name: 'status',
    label: 'Decision',
    choices: ['scored', 'sampled_out', 'filtered', 'not_applicable', 'deferred', 'failed'],
  },
  { name: 'reason', label: 'Reason' },
  { name: 'rule', label: 'Rule' },
  { name: 'sessionId', label: 'Session' },
  { name: 'userId', label: 'User' },
];

/** Lists the scorers of a page of traces: each is a column. */
export function listScorers(rows: readonly TraceRow[]): string[] {
  return [...new Set(rows.flatMap(({ scores }) => scores.map(({ scorer }) => scorer)))].toSorted();
}

/** Scores of one scorer on a trace: several when it has several targets, or people scored it, too. */
export function scoresOf({ scores }: TraceRow, scorer: string): ScoreBrief[] {
  return scores.filter((score) => score.scorer === scorer);
}

/** States of a trace with a sign and words: colour is never the only sign. */
export const STATES = {
  waiting: { sign: '…', words: 'waiting' },
  scored: { sign: '✓', words: 'scored' },
  partly: { sign: '◐', words: 'partly scored' },
  not_scored: { sign: '–', words: 'not scored' },
} as const satisfies Record<TraceRow['state'], { sign: string; words: string }>;
