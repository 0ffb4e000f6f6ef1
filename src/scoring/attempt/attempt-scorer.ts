import type { ScorerRunInput, ScorerRunResult } from '../../evals/scorer.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { withJudgeScope, type JudgeScope } from '../../judge/judge-scope.ts';
import { createRedactor, type RedactionOptions, type Redactor } from '../../judge/redaction/redaction.ts';
import { toFailure, formatReason } from './attempt-failure.ts';
import type { SharedJudgeScope } from './attempt-context.ts';
import { readResult } from './read-result.ts';
import type { PreparedScorer } from '../select/rule.ts';
import { sumCost, type AttemptResult, type ScorerAttempt } from './attempt-result.ts';
import { untilAborted } from '../../domain/waits.ts';

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
  const { input: runInput, output, context: runContext, documents } = input;
  const redacted = { ...input, ...redactor.run({ input: runInput, output, context: runContext, documents }) };
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
