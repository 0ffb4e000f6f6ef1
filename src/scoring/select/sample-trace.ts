import type { Stratum } from '../../domain/decision.ts';
import { createHash } from 'node:crypto';

/** Must never change: the stored inclusion probabilities are those of this draw. */
const DRAW_DOMAIN = 'spanscore:sampling:v1\0';

/** Reasons that facts without content show. */
const FACT_REASONS = ['error', 'tool-error', 'negative-feedback'] as const;

/**
 * Reason for which a rule scores a trace that is not in its sample. A number is the least duration (milliseconds), cost (USD) or
 * number of tokens, or the number of first traces of each new version.
 */
export type PriorityReason =
  | (typeof FACT_REASONS)[number]
  | { readonly slowMs: number }
  | { readonly costlyUsd: number }
  | { readonly tokens: number }
  | { readonly newVersion: number };

/** Size of a run; null for a number that is unknown. */
export interface RunSize {
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

/** Facts about a trace that the reasons look at. */
export interface PriorityFacts {
  readonly hasError: boolean;
  readonly hasToolError: boolean;
  readonly hasNegativeFeedback: boolean;
  readonly durationMs: number;
  /** True for one of the first traces of a new version. */
  readonly isFirstOfVersion: boolean;
  /** Absent before the content is read. One run is enough for a reason. */
  readonly runs?: readonly RunSize[];
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

/** Decides from the trace id and the facts alone: the answer is the same on every machine and at any time. */
export function sampleTrace(traceId: string, plan: SamplePlan, facts?: PriorityFacts): SampleVerdict {
  const inUniform = drawUniform(traceId) < plan.rate;
  const priority = facts !== undefined && plan.always.some((reason) => hasReason(reason, facts));
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

/**
 * Returns true when only the content of the trace shows its probability: it is below 1 so far, and a reason looks at the content.
 * A trace of the uniform draw needs the content, too: with such a reason its probability is 1, not the rate.
 */
export function needsContentFor({ always }: SamplePlan, { inclusionProbability }: SampleVerdict): boolean {
  return inclusionProbability < 1 && always.some((reason) => looksAtCost(reason) || looksAtTokens(reason));
}

/** Returns true when a reason needs the facts of the trace, so that a query has to read them. */
export function needsFactsFor({ always }: SamplePlan): boolean {
  return always.some((reason) => typeof reason === 'string' || 'newVersion' in reason);
}

/** Returns true when a reason looks at feedback. */
export function needsFeedbackFor({ always }: Pick<SamplePlan, 'always'>): boolean {
  return always.includes('negative-feedback');
}

/** Returns the number of first traces of each new version that a plan always scores; 0 when it asks for none, or scores every trace. */
export function countFirstTraces({ rate, always }: SamplePlan): number {
  const counts = always.map((reason) =>
    typeof reason === 'object' && 'newVersion' in reason ? reason.newVersion : 0,
  );
  return rate >= 1 ? 0 : Math.max(0, ...counts);
}

/** Returns true when a reason looks at the cost of runs. */
export function looksAtCost(reason: PriorityReason): boolean {
  return typeof reason === 'object' && 'costlyUsd' in reason;
}

function looksAtTokens(reason: PriorityReason): boolean {
  return typeof reason === 'object' && 'tokens' in reason;
}

function hasReason(reason: PriorityReason, facts: PriorityFacts): boolean {
  if (reason === 'error') {
    return facts.hasError;
  }
  if (reason === 'tool-error') {
    return facts.hasToolError;
  }
  if (reason === 'negative-feedback') {
    return facts.hasNegativeFeedback;
  }
  if ('slowMs' in reason) {
    return facts.durationMs >= reason.slowMs;
  }
  if ('newVersion' in reason) {
    return facts.isFirstOfVersion;
  }
  const runs = facts.runs ?? [];
  return 'tokens' in reason
    ? runs.some(({ tokens }) => tokens !== null && tokens >= reason.tokens)
    : runs.some(({ costUsd }) => costUsd !== null && costUsd >= reason.costlyUsd);
}

/** Lists the reasons of a stored definition. Returns undefined when they cannot be read. */
export function parseReasons(stored: unknown): PriorityReason[] | undefined {
  return Array.isArray(stored) ? stored.filter(isReason) : undefined;
}

function isReason(stored: unknown): stored is PriorityReason {
  if (typeof stored !== 'object' || stored === null) {
    return FACT_REASONS.some((reason) => reason === stored);
  }
  return ['slowMs', 'costlyUsd', 'tokens', 'newVersion'].some(
    (key) => typeof Reflect.get(stored, key) === 'number',
  );
}

/**
 * Draws the random number of a trace, in [0, 1): the top 53 bits of a domain-separated SHA-256 of its id. The bits of the id
 * itself are not used, because a sampler upstream may have used them. The number is the same for every scorer, so that a smaller
 * sample is a part of a larger one.
 */
export function drawUniform(traceId: string): number {
  const digest = createHash('sha256').update(DRAW_DOMAIN).update(traceId.toLowerCase()).digest();
  return Number(digest.readBigUInt64BE(0) >> 11n) / 2 ** 53;
}
