import { computeFenceCode, withJudgeScope, type JudgeScope } from '../../judge/judge-scope.ts';
import type { Pair } from './pair.ts';
import type { Scoring } from '../scoring.ts';
import {
  findScoreLabel,
  type NamedScore,
  type ScorerRunInput,
  type ScorerRunResult,
} from '../../scorers/evals/scorer.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { createRedactor, type Redactor } from '../../judge/redaction/redaction.ts';
import {
  toFailure,
  formatReason,
  sumCost,
  type AttemptResult,
  type ScorerAttempt,
  type ScoreValue,
} from './attempt-failure.ts';
import type { BoundScorer } from '../select/rule.ts';
import { untilAborted } from '../../domain/waits.ts';
import { describeOutside, type Verdict } from '../../domain/score.ts';

/** Most verdicts that are stored of one score. */
const MAX_VERDICTS = 500;

/** Calls and redactions of one attempt, collected while it runs. */
interface AttemptNotes {
  readonly calls: JudgeCall[];
  /** Judges whose earlier answers were used, one entry per answer. */
  readonly reused: string[];
  readonly redactor: Redactor;
}

/**
 * Runs one scorer on one run within its time limit. Never throws: an error becomes the result of the attempt.
 * @param reserve reserves money for a judge call; undefined without a budget
 */
export async function attemptScorer(
  pair: Pair,
  input: ScorerRunInput,
  scoring: Scoring,
  reserve: JudgeScope['reserve'],
): Promise<ScorerAttempt> {
  const notes: AttemptNotes = { calls: [], reused: [], redactor: createRedactor(scoring.redaction) };
  const startedMs = scoring.monotonicMs();
  const result = await runWithinLimit(pair, scoring, (signal) =>
    startScorer(pair, input, { scope: buildScope(pair, scoring, { notes, reserve, signal }), notes, signal }),
  );
  const durationMs = Math.max(0, Math.round(scoring.monotonicMs() - startedMs));
  const { calls, reused, redactor } = notes;
  return { result, calls, cost: sumCost(calls, { durationMs, redactions: redactor.count, reused }) };
}

async function runWithinLimit(
  { bound }: Pair,
  { signal: outer, scorerTimeoutMs }: Scoring,
  start: (signal: AbortSignal) => Promise<ScorerRunResult>,
): Promise<AttemptResult> {
  // A listener costs less than `AbortSignal.any`, and every run of a scorer needs one.
  const limit = new AbortController();
  const { signal } = limit;
  const stop = () => limit.abort(outer?.reason);
  const timeoutMs = bound.timeoutMs ?? scorerTimeoutMs;
  const timer = bound.own === undefined ? setTimeout(() => limit.abort(), timeoutMs) : undefined;
  if (outer?.aborted) {
    stop();
  }
  outer?.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    // A scorer may ignore its signal.
    return readResult(bound, await untilAborted(start(signal), signal));
  } catch (error) {
    if (outer?.aborted) {
      return { status: 'abandoned' };
    }
    return signal.aborted
      ? { status: 'failed', reason: formatReason('timeout', `no result within ${timeoutMs} ms`) }
      : toFailure(error);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', stop);
  }
}

/** Starts a scorer. One that asks a judge gets a redacted run: structured values are redacted before they become text. */
async function startScorer(
  { bound }: Pair,
  input: ScorerRunInput,
  { scope, notes, signal }: { scope: JudgeScope; notes: AttemptNotes; signal: AbortSignal },
): Promise<ScorerRunResult> {
  // A scorer without a judge may run another scorer that asks a judge.
  let shown = input;
  if (bound.isJudged) {
    const { input: runInput, output, context, documents, tools, exampleRuns } = input;
    const further = Object.entries({ tools, exampleRuns }).filter(([, value]) => value !== undefined);
    const texts = { input: runInput, output, context, documents, ...Object.fromEntries(further) };
    shown = { ...input, ...notes.redactor.run(texts) } as ScorerRunInput;
  }
  return withJudgeScope(scope, () => bound.scorer.run(shown, { abortSignal: signal }));
}

function buildScope(
  { task, target, hash }: Pair,
  { judgeScope, reuses }: Scoring,
  { notes, reserve, signal }: { notes: AttemptNotes; reserve: JudgeScope['reserve']; signal: AbortSignal },
): JudgeScope {
  return {
    ...judgeScope,
    redactor: notes.redactor,
    // The code on the marker lines around the data of the judge's questions.
    fenceCode: () => computeFenceCode(JSON.stringify([task.key.tenant, target.targetId, hash])),
    reserve,
    onReuse: (judge) => {
      notes.reused.push(judge);
      reuses.add(task.key.tenant, judge);
    },
    signal,
    onCall: (call) => {
      notes.calls.push(call);
      judgeScope.onCall?.(call);
    },
    beforeCall: async () => {
      await task.claim.check();
      await judgeScope.beforeCall?.();
    },
  };
}

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
  const values = [...own, ...named.map((entry) => readNamedValue(bound, result, entry))];
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
    confidence: result.confidence ?? null,
    ...readRung(result, '', score),
    label: result.label ?? findScoreLabel(score, scorer.labels ?? []) ?? '',
    reason: readText(result.reason),
    verdicts: readVerdicts(result.verdicts),
    higherIsBetter: scorer.higherIsBetter ?? bound.higherIsBetter ?? null,
    range: scorer.range ?? bound.range ?? null,
  };
}

function readRung(
  { cascade }: ScorerRunResult,
  name: string,
  score: number,
): Pick<ScoreValue, 'rung' | 'rungProbability' | 'firstScore'> {
  return {
    rung: cascade?.rung ?? 0,
    rungProbability: cascade?.probability ?? null,
    firstScore: cascade?.firstScores.get(name) ?? score,
  };
}

function readNamedValue(bound: BoundScorer, result: ScorerRunResult, entry: NamedScore): ScoreValue {
  return {
    name: entry.name,
    score: entry.score,
    confidence: entry.confidence ?? null,
    ...readRung(result, entry.name, entry.score),
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
