import { type Span, OWN_SCOPE } from '../domain/trace/span.ts';

const JUDGE_KINDS = new Set(['EVALUATOR', 'GUARDRAIL_EVALUATOR']);

/** True for the span of a judge or a scorer: its subtree is never part of an agent run. */
export function isEvaluationSpan(span: Span): boolean {
  const { attributes } = span;
  return (
    span.scopeName === OWN_SCOPE ||
    attributes.has('gen_ai.evaluation.name') ||
    JUDGE_KINDS.has(attributes.get('openinference.span.kind')?.toUpperCase() ?? '') ||
    attributes.get('mastra.span.type')?.startsWith('scorer') === true ||
    attributes.get('langfuse.environment')?.startsWith('langfuse-') === true ||
    span.name === 'scorer_run'
  );
}
