import type { DecisionStatus } from '../../../src/domain/decision.ts';

/** A rule of the final configuration, or one version of a rule in the store. */
export interface RecordedRule {
  readonly rule: string;
  readonly scorers: readonly string[];
}

export interface RecordedDecision {
  readonly traceId: string;
  readonly targetId: string;
  readonly rule: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly status: DecisionStatus;
  readonly reason: string;
  readonly evidenceUntilMs: number;
  readonly evidenceHash: string;
  readonly nextAttemptMs: number | null;
}

export interface RecordedScore {
  readonly scoreId: string;
  readonly revision: number;
  readonly traceId: string;
  readonly targetId: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly evidenceHash: string;
  readonly source: string;
  readonly value: number;
}

/** The exporters of the fleet. */
export const EXPORTERS = ['webhook', 'log'] as const;

/** Joins what a receiver recognises a repeat by. */
export function joinExport({
  exporter,
  scoreId,
  revision,
}: Omit<Delivery, 'status' | 'atMs' | 'value'>): string {
  return `${exporter} ${scoreId}.${revision}`;
}

/** One delivery of a score to the receiver of exports. */
export interface Delivery {
  readonly exporter: (typeof EXPORTERS)[number];
  readonly scoreId: string;
  readonly revision: number;
  readonly value: number;
  readonly status: number;
  readonly atMs: number;
}

/** One call to the judge. */
export interface RecordedCall {
  /** Process that called. */
  readonly process: string;
  /** Model and messages. */
  readonly question: string;
  /** Trace and model. */
  readonly subject: string;
  readonly startedMs: number;
  /** Infinity without an answer. */
  readonly answeredMs: number;
  /** True for a reply that a scorer can use. */
  readonly isUsable: boolean;
}

/** A time in which a process was killed or did not run. */
export interface Disturbance {
  /** Process whose work was interrupted; `all` when the store was. */
  readonly process: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Everything that is known about a fleet after two overlapping faults, from outside its processes. */
export interface FleetRecord {
  /** Span ids of each acknowledged trace. */
  readonly acknowledged: ReadonlyMap<string, readonly string[]>;
  /** Span ids of each of these traces, as scoring reads them. */
  readonly stored: ReadonlyMap<string, readonly string[]>;
  /** First and last arrival of each trace. */
  readonly arrivals: ReadonlyMap<string, { readonly firstMs: number; readonly lastMs: number }>;
  readonly finalRules: readonly RecordedRule[];
  readonly ruleVersions: readonly (RecordedRule & { readonly activeFromMs: number })[];
  readonly decisions: readonly RecordedDecision[];
  readonly scores: readonly RecordedScore[];
  readonly deliveries: readonly Delivery[];
  readonly calls: readonly RecordedCall[];
  readonly disturbances: readonly Disturbance[];
  /** The store's clock when the record was read. */
  readonly storeNowMs: number;
  /** Processes that ended without a signal. */
  readonly endedAlone: readonly string[];
  /** Processes and files that were left after the stop. */
  readonly leftBehind: readonly string[];
}
