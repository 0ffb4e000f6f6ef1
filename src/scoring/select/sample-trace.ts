import type { Stratum } from '../../domain/decision.ts';
import { uniformDraw } from './uniform-draw.ts';

/** Traces that a rule can ask to score whatever its rate. */
export const PRIORITY_REASONS = ['error', 'tool-error', 'negative-feedback'] as const;
export type PriorityReason = (typeof PRIORITY_REASONS)[number];

/** Facts about a trace that need no content. */
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
  /** `uniform` whenever the trace is in the uniform draw, also as an error trace; `priority` names only the extras. */
  readonly stratum: Stratum;
  /** The probability with which a trace like this one is scored: 1 for a priority trace, else the rate. */
  readonly inclusionProbability: number;
  /** 1 / inclusion probability (Horvitz-Thompson); null when not included. */
  readonly weight: number | null;
}

const APPLIES: Record<PriorityReason, (facts: PriorityFacts) => boolean> = {
  error: (facts) => facts.hasError,
  'tool-error': (facts) => facts.hasToolError,
  'negative-feedback': (facts) => facts.hasNegativeFeedback,
};

/** Decides from the trace id alone (and what is known of the trace): the same answer on every machine, at any time. */
export function sampleTrace(traceId: string, plan: SamplePlan, facts?: PriorityFacts): SampleVerdict {
  const inUniform = uniformDraw(traceId) < plan.rate;
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
