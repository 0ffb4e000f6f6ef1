import {
  findScoreLabel,
  type NamedScore,
  type ScorerRunInput,
  type ScorerRunResult,
} from '../../scorers/evals/scorer.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { withJudgeScope, type JudgeScope } from '../../judge/judge-scope.ts';
import { createRedactor, type RedactionOptions, type Redactor } from '../../judge/redaction/redaction.ts';
import { toFailure, formatReason } from './attempt-failure.ts';
import type { SharedJudgeScope } from './attempt-context.ts';
import type { PreparedScorer, BoundScorer } from '../select/rule.ts';
import { sumCost, type AttemptResult, type ScorerAttempt, type ScoreValue } from './attempt-result.ts';
import { untilAborted } from '../../domain/waits.ts';
import { describeOutside, type Verdict } from '../../domain/score.ts';

/** Most verdicts that are stored of one score. */
const MAX_VERDICTS = 500;

/** Limits and services of one attempt. */
export interface ScorerTerms {
  readonly judgeScope: SharedJudgeScope;
  readonly redaction: RedactionOptions;
  readonly timeoutMs: number;
  /** Code on the marker lines around the data of the judge's questions. */
  readonly fenceCode: string;
  /** Reserves money for a judge call. Absent for a rule without a budget. */
  readonly reserve?: JudgeScope['reserve'];
  /** Called with the name of the judge when its earlier answer replaces a call. */
  readonly onReuse: (judge: string) => void;
  /** Aborted when this process stops. */
  readonly signal: AbortSignal | undefined;
  /** Throws when another process may have worked on the trace. */
  readonly checkClaim: () => Promise<void>;
  readonly monotonicMs: () => number;
}

/** Runs one scorer on one run within its time limit. Never throws: an error becomes the result of the attempt. */
export async function attemptScorer(
  bound: PreparedScorer,
  input: ScorerRunInput,
  terms: ScorerTerms,
): Promise<ScorerAttempt> {
  const calls: JudgeCall[] = [];
  const redactor = createRedactor(terms.redaction);
  const startedMs = terms.monotonicMs();
  const reused: string[] = [];
  const result = await runWithinLimit(bound, input, terms, { calls, reused, redactor });
  const durationMs = Math.max(0, Math.round(terms.monotonicMs() - startedMs));
  return { result, calls, cost: sumCost(calls, { durationMs, redactions: redactor.count, reused }) };
}

/** Calls and redactions of one attempt, collected while it runs. */
interface AttemptNotes {
  readonly calls: JudgeCall[];
  /** Judges whose earlier answers were used, one entry per answer. */
  readonly reused: string[];
  readonly redactor: Redactor;
}

async function runWithinLimit(
  bound: PreparedScorer,
  input: ScorerRunInput,
  terms: ScorerTerms,
  notes: AttemptNotes,
): Promise<AttemptResult> {
  const limit = new AbortController();
  const timeoutMs = bound.timeoutMs ?? terms.timeoutMs;
  const timer = bound.guest === undefined ? setTimeout(() => limit.abort(), timeoutMs) : undefined;
  const outer = terms.signal === undefined ? [] : [terms.signal];
  const signal = AbortSignal.any([limit.signal, ...outer]);
  try {
    signal.throwIfAborted();
    // A scorer may ignore its signal.
    return readResult(bound, await untilAborted(startScorer(bound, input, terms, notes, signal), signal));
  } catch (error) {
    if (terms.signal?.aborted) {
      return { status: 'abandoned' };
    }
    return limit.signal.aborted
      ? { status: 'failed', reason: formatReason('timeout', `no result within ${timeoutMs} ms`) }
      : toFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Starts a scorer. One that asks a judge gets a redacted run: structured values are redacted before they become text. */
async function startScorer(
  bound: PreparedScorer,
  input: ScorerRunInput,
  terms: ScorerTerms,
  notes: AttemptNotes,
  signal: AbortSignal,
): Promise<ScorerRunResult> {
  const options = { abortSignal: signal };
  const scope = buildScope(terms, notes, signal);
  if (!bound.isJudged) {
    // A scorer without a judge may run another scorer that asks a judge.
    return withJudgeScope(scope, () => bound.scorer.run(input, options));
  }
  const { redactor } = notes;
  const { input: runInput, output, context: runContext, documents, tools } = input;
  const shown = {
    input: runInput,
    output,
    context: runContext,
    documents,
    ...(tools === undefined ? {} : { tools }),
  };
  const redacted = { ...input, ...redactor.run(shown) };
  return withJudgeScope(scope, () => bound.scorer.run(redacted as ScorerRunInput, options));
}

function buildScope(
  terms: ScorerTerms,
  { calls, reused, redactor }: AttemptNotes,
  signal: AbortSignal,
): JudgeScope {
  const { judgeScope } = terms;
  return {
    ...judgeScope,
    redactor,
    fenceCode: terms.fenceCode,
    reserve: terms.reserve,
    onReuse: (judge) => {
      reused.push(judge);
      terms.onReuse(judge);
    },
    signal,
    onCall: (call) => {
      calls.push(call);
      judgeScope.onCall?.(call);
    },
    beforeCall: async () => {
      await terms.checkClaim();
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
