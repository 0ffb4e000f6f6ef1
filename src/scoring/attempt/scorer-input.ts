import type { ScoreSource } from '../../domain/score.ts';
import type { ScorerRunInput } from '../../evals/scorer.ts';
import type { ScoringTarget } from '../select/targets.ts';

/** Builds the input of a scorer from a run. The run id is the score id, so that a repeated run can be recognised. */
export function buildScorerInput(
  target: ScoringTarget,
  source: ScoreSource,
  scoreId: string,
): ScorerRunInput {
  const { run } = target;
  return {
    input: run.input,
    output: run.output,
    context: run.context,
    documents: run.documents,
    ...(run.tools === undefined ? {} : { tools: run.tools }),
    runId: scoreId,
    scoreSource: source,
    targetTraceId: run.target.traceId,
    targetSpanId: run.target.spanId,
    requestContext: {},
  };
}
