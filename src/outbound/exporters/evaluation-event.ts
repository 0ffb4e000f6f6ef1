import { sha256Hex } from '../../domain/identity.ts';
import type { Attributes } from '@opentelemetry/api';
import type { Score } from '../../domain/score.ts';

/** Name of the event in OpenTelemetry's semantic conventions for generative AI. */
export const EVALUATION_EVENT = 'gen_ai.evaluation.result';

/** Longest explanation that is sent; receivers refuse or cut longer values, each in its own way. */
const MAX_EXPLANATION_CHARS = 8192;

/**
 * Builds the attributes of an evaluation: those of the semantic conventions and, in our own namespace, the ids of the score.
 */
export function evaluationAttributes(score: Score): Attributes {
  return withoutEmpty({
    'gen_ai.evaluation.name': score.scorer,
    'gen_ai.evaluation.score.value': score.score,
    'gen_ai.evaluation.score.label': score.label,
    'gen_ai.evaluation.explanation': score.reason.slice(0, MAX_EXPLANATION_CHARS).toWellFormed(),
    'spanscore.score.id': score.scoreId,
    'spanscore.score.revision': score.revision,
    'spanscore.scorer.version': score.scorerVersion,
    'spanscore.scorer.fingerprint': score.fingerprint,
    'spanscore.judge.model': score.judgeModel,
    'spanscore.prompt.version': score.promptVersion,
    'spanscore.target.kind': score.target,
    'spanscore.target.id': score.targetId,
    'spanscore.source': score.source,
    'spanscore.tenant': score.tenant,
    'spanscore.completeness': score.completeness,
  });
}

function withoutEmpty(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''));
}

/** Computes the id of an evaluation's span, 16 hex digits: the same in every repeat of one revision. */
export function evaluationSpanId(score: Pick<Score, 'scoreId' | 'revision'>): string {
  return digest('span', score).slice(0, 16);
}

/** Returns the trace id of an evaluation: the trace of the scored run. An evaluation of a session gets a trace of its own. */
export function evaluationTraceId(score: Pick<Score, 'scoreId' | 'revision' | 'traceId'>): string {
  return score.traceId === '' ? digest('trace', score).slice(0, 32) : score.traceId;
}

function digest(kind: string, score: Pick<Score, 'scoreId' | 'revision'>): string {
  const hex = sha256Hex(`${kind}:${score.scoreId}:${score.revision}`);
  // An id of zeros only is invalid.
  return /^0{16}/.test(hex) ? `1${hex.slice(1)}` : hex;
}
