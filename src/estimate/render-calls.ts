import { AppError } from '../domain/errors.ts';
import type { ScorerRunInput, ScorerRunOptions, ScorerRunResult } from '../scorers/evals/scorer.ts';
import { withJudgeScope, type PlannedCall } from '../judge/judge-scope.ts';
import { readReasonCode, toFailure } from '../scoring/attempt/attempt-failure.ts';
import type { PreparedRule, PreparedScorer } from '../scoring/select/rule.ts';

/** First questions of one run of a scorer, as they would be sent. */
export interface RenderedRun {
  readonly rule: string;
  readonly scorer: string;
  readonly traceId: string;
  /** Id of the score that the run would give. */
  readonly scoreId: string;
  /** UTF-8 bytes of the content of the run, as JSON. */
  readonly runBytes: number;
  /** Empty when the scorer needs no judge for this run. */
  readonly calls: readonly PlannedCall[];
  /** Code of the reason for which the run gives no score; '' for a run that asks its judge, or gives a score. */
  readonly reason: string;
}

/**
 * Makes rules whose judged scorers stop at their first question: the question is rendered and redacted like a real one, and no call is
 * made. Code scorers and scorers of the user's own do not run, because the latter may call models by themselves.
 */
export function renderRules(
  rules: readonly PreparedRule[],
  onRun: (run: RenderedRun) => void,
): PreparedRule[] {
  return rules.map((rule) => ({
    ...rule,
    scorers: rule.scorers.map((bound) => renderScorer(rule.name, bound, onRun)),
  }));
}

/** Returns true for a scorer whose first question can be rendered. */
export function canRender({ isJudged, guest }: PreparedScorer): boolean {
  return isJudged && guest === undefined;
}

function renderScorer(
  rule: string,
  bound: PreparedScorer,
  onRun: (run: RenderedRun) => void,
): PreparedScorer {
  const run = async (input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult> => {
    if (!canRender(bound)) {
      throw stopError();
    }
    const calls: PlannedCall[] = [];
    const onPlan = (call: PlannedCall) => {
      calls.push(call);
      throw stopError();
    };
    const reason = await withJudgeScope({ onPlan }, () => runToQuestion(bound, input, options));
    const { targetTraceId: traceId } = input;
    onRun({
      rule,
      scorer: bound.name,
      traceId: typeof traceId === 'string' ? traceId : '',
      scoreId: input.runId ?? '',
      runBytes: measureRun(input),
      calls,
      reason: calls.length > 0 ? '' : reason,
    });
    throw stopError();
  };
  // The own members of a scorer may be getters, and stay as they are.
  const scorer = Object.create(bound.scorer, { run: { value: run } }) as PreparedScorer['scorer'];
  return { ...bound, scorer, guest: undefined };
}

/** Runs a scorer until it asks. Returns the code of the reason when it ends without a score before. */
async function runToQuestion(
  { scorer }: PreparedScorer,
  input: ScorerRunInput,
  options: ScorerRunOptions | undefined,
): Promise<string> {
  try {
    const { notScorable } = await scorer.run(input, options);
    return notScorable === undefined ? '' : 'not_scorable';
  } catch (error) {
    const failure = toFailure(error);
    return 'reason' in failure ? readReasonCode(failure.reason) : '';
  }
}

function measureRun({ input, output, context, documents, tools }: ScorerRunInput): number {
  return Buffer.byteLength(JSON.stringify([input, output, context, documents, tools]));
}

function stopError(): AppError {
  return new AppError('the question was only rendered', {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
  });
}
