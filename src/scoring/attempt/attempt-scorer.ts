import type { ScorerRunInput, ScorerRunResult } from '../../evals/scorer.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { withJudgeScope, type JudgeScope } from '../../judge/judge-scope.ts';
import { createRedactor, type RedactionOptions, type Redactor } from '../../judge/redaction/redaction.ts';
import { toFailure, formatReason } from './attempt-failure.ts';
import type { SharedJudgeScope } from './attempt-context.ts';
import { readResult } from './read-result.ts';
import type { PreparedScorer } from '../select/rule.ts';
import { sumCost, type AttemptResult, type ScorerAttempt } from './attempt-result.ts';

export interface ScorerTerms {
  readonly judgeScope: SharedJudgeScope;
  readonly redaction: RedactionOptions;
  readonly timeoutMs: number;
  /** Puts money aside for a judge call; absent where the rule has no budget. */
  readonly reserve?: JudgeScope['reserve'];
  /** Our own stop. */
  readonly signal: AbortSignal | undefined;
  /** Throws when the trace is no longer ours. */
  readonly checkLease: () => Promise<void>;
  readonly monotonicMs: () => number;
}

/** Runs one scorer on one run within its time limit. Never throws: whatever happens is the attempt's result. */
export async function attemptScorer(
  bound: PreparedScorer,
  input: ScorerRunInput,
  context: ScorerTerms,
): Promise<ScorerAttempt> {
  const calls: JudgeCall[] = [];
  const redactor = createRedactor(context.redaction);
  const startedMs = context.monotonicMs();
  const reused: string[] = [];
  const result = await limited(bound, input, context, { calls, reused, redactor });
  const durationMs = Math.max(0, Math.round(context.monotonicMs() - startedMs));
  return { result, calls, cost: sumCost(calls, { durationMs, redactions: redactor.count, reused }) };
}

/** Calls and redactions of one attempt while it runs. */
interface Gathered {
  readonly calls: JudgeCall[];
  /** Judges whose earlier answers were used, one entry an answer. */
  readonly reused: string[];
  readonly redactor: Redactor;
}

async function limited(
  bound: PreparedScorer,
  input: ScorerRunInput,
  context: ScorerTerms,
  gathered: Gathered,
): Promise<AttemptResult> {
  const limit = new AbortController();
  const timeoutMs = bound.timeoutMs ?? context.timeoutMs;
  const timer = bound.guest === undefined ? setTimeout(() => limit.abort(), timeoutMs) : undefined;
  const outer = context.signal === undefined ? [] : [context.signal];
  const signal = AbortSignal.any([limit.signal, ...outer]);
  try {
    signal.throwIfAborted();
    return readResult(bound, await untilAborted(begin(bound, input, context, gathered, signal), signal));
  } catch (error) {
    if (context.signal?.aborted) {
      return { status: 'abandoned' };
    }
    return limit.signal.aborted
      ? { status: 'failed', reason: formatReason('timeout', `no result within ${timeoutMs} ms`) }
      : toFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A scorer that asks a judge sees the run as the judge may: what is structured is redacted before it becomes text. */
async function begin(
  bound: PreparedScorer,
  input: ScorerRunInput,
  context: ScorerTerms,
  gathered: Gathered,
  signal: AbortSignal,
): Promise<ScorerRunResult> {
  const options = { abortSignal: signal };
  const scope = buildScope(context, gathered, signal);
  if (!bound.isJudged) {
    // A scorer that declares no judge may run one that asks ours.
    return withJudgeScope(scope, () => bound.scorer.run(input, options));
  }
  const { redactor } = gathered;
  const { input: said, output, context: evidence, documents } = input;
  const redacted = { ...input, ...redactor.run({ input: said, output, context: evidence, documents }) };
  return withJudgeScope(scope, () => bound.scorer.run(redacted as ScorerRunInput, options));
}

function buildScope(
  context: ScorerTerms,
  { calls, reused, redactor }: Gathered,
  signal: AbortSignal,
): JudgeScope {
  const { judgeScope } = context;
  return {
    ...judgeScope,
    redactor,
    reserve: context.reserve,
    onReuse: (judge) => reused.push(judge),
    signal,
    onCall: (call) => {
      calls.push(call);
      judgeScope.onCall?.(call);
    },
    beforeCall: async () => {
      await context.checkLease();
      await judgeScope.beforeCall?.();
    },
  };
}

/** A scorer that ignores its signal is left behind: its result, should it ever come, is dropped. */
async function untilAborted(
  running: Promise<ScorerRunResult>,
  signal: AbortSignal,
): Promise<ScorerRunResult> {
  const gaveUp = Promise.withResolvers<never>();
  const onAbort = () => gaveUp.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([running, gaveUp.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
