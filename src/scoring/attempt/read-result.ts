import { describeOutside, type Verdict } from '../../domain/score.ts';
import { findScoreLabel } from '../../evals/score-label.ts';
import type { NamedScore, ScorerRunResult } from '../../evals/scorer.ts';
import { formatReason } from './attempt-failure.ts';
import type { BoundScorer } from '../select/rule.ts';
import type { AttemptResult, ScoreValue } from './attempt-result.ts';

/** Most verdicts that are stored of one score. */
const MAX_VERDICTS = 500;

/**
 * Reads the values of a scorer's result. A scorer may be code of other people, so every part is checked: a score that is not a
 * finite number, or outside of its range, is a failure.
 */
export function readResult(bound: BoundScorer, result: ScorerRunResult): AttemptResult {
  if (result === null || typeof result !== 'object') {
    return failScorer(bound, `run() gave ${result === null ? 'null' : typeof result}, not a result object`);
  }
  if (result.notScorable !== undefined) {
    return {
      status: 'not_applicable',
      reason: formatReason('not_scorable', result.notScorable.reason ?? 'the scorer gave no reason'),
    };
  }
  const named = result.scores ?? [];
  if (result.score === undefined && named.length === 0) {
    return failScorer(bound, 'run() gave no score');
  }
  const own = result.score === undefined ? [] : [readOwnValue(bound, result, result.score)];
  const values = [...own, ...named.map((entry) => readNamedValue(bound, entry))];
  const bad = values.find((value) => typeof value.score !== 'number' || !Number.isFinite(value.score));
  if (bad !== undefined) {
    const which = bad.name === '' ? 'the score' : `the score ${bad.name}`;
    return failScorer(bound, `${which} is ${String(bad.score)}, not a finite number`);
  }
  // The range of a measure comes from the past of its agent: a run may exceed it.
  const limited = bound.readsPast === true ? [] : values;
  const outside = limited
    .map(({ name, score, range }) =>
      describeOutside(name === '' ? bound.name : `${bound.name}.${name}`, score, range),
    )
    .find((text) => text !== undefined);
  if (outside !== undefined) {
    return { status: 'failed', reason: formatReason('out_of_range', outside) };
  }
  if (new Set(values.map((value) => value.name)).size < values.length) {
    return failScorer(bound, 'two scores have the same name');
  }
  return { status: 'scored', values };
}

function failScorer({ name }: BoundScorer, detail: string): AttemptResult {
  return { status: 'failed', reason: formatReason('scorer_failed', `scorer ${name}: ${detail}`) };
}

function readOwnValue(bound: BoundScorer, result: ScorerRunResult, score: number): ScoreValue {
  const { scorer } = bound;
  return {
    name: '',
    score,
    label: result.label ?? findScoreLabel(score, scorer.labels ?? []) ?? '',
    reason: readText(result.reason),
    verdicts: readVerdicts(result.verdicts),
    higherIsBetter: scorer.higherIsBetter ?? bound.higherIsBetter ?? null,
    range: scorer.range ?? bound.range ?? null,
  };
}

function readNamedValue(bound: BoundScorer, entry: NamedScore): ScoreValue {
  return {
    name: entry.name,
    score: entry.score,
    label: entry.label ?? '',
    reason: entry.reason ?? '',
    verdicts: readVerdicts(entry.verdicts),
    higherIsBetter: entry.higherIsBetter ?? bound.higherIsBetter ?? null,
    range: entry.range ?? bound.range ?? null,
  };
}

function readText(reason: unknown): string {
  if (reason === undefined || reason === null) {
    return '';
  }
  return typeof reason === 'string' ? reason : (JSON.stringify(reason) ?? '');
}

function readVerdicts(verdicts: readonly Verdict[] | undefined): readonly Verdict[] {
  return Array.isArray(verdicts) ? verdicts.slice(0, MAX_VERDICTS) : [];
}
