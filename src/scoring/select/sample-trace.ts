import type { Stratum } from '../../domain/decision.ts';
import { drawUniform } from './uniform-draw.ts';

/** Reasons for which a rule can score a trace that is not in its sample. */
export const PRIORITY_REASONS = ['error', 'tool-error', 'negative-feedback'] as const;
export type PriorityReason = (typeof PRIORITY_REASONS)[number];

/** Facts about a trace that are known without its content. */
export interface PriorityFacts {
  readonly hasError: boolean;
  readonly hasToolError: boolean;
  readonly hasNegativeFeedback: boolean;
}

export interface SamplePlan {
  /** Share of the traces to score, 0 to 1. */
  readonly rate: number;
  readonly always: readonly PriorityReason[];
}

export interface SampleVerdict {
  readonly included: boolean;
  /** `uniform` when the uniform draw has the trace, also for an error trace; `priority` only for a trace beyond that draw. */
  readonly stratum: Stratum;
  /** Probability that a trace like this one is scored: 1 for a priority trace, else the rate. */
  readonly inclusionProbability: number;
  /** 1 / inclusion probability (Horvitz-Thompson); null when the trace is not included. */
  readonly weight: number | null;
}

const APPLIES: Record<PriorityReason, (facts: PriorityFacts) => boolean> = {
  error: (facts) => facts.hasError,
  'tool-error': (facts) => facts.hasToolError,
  'negative-feedback': (facts) => facts.hasNegativeFeedback,
};

/** Decides from the trace id and the facts alone: the answer is the same on every machine and at any time. */
export function sampleTrace(traceId: string, plan: SamplePlan, facts?: PriorityFacts): SampleVerdict {
  const inUniform = drawUniform(traceId) < plan.rate;
  const priority = facts !== undefined && plan.always.some((reason) => APPLIES[reason](facts));
  const inclusionProbability = priority ? 1 : plan.rate;
  if (!inUniform && !priority) {
    return { included: false, stratum: 'none', inclusionProbability, weight: null };
  }
  return {
    included: true,
    stratum: inUniform ? 'uniform' : 'priority',
    inclusionProbability,
    weight: 1 / inclusionProbability,
  };
}
