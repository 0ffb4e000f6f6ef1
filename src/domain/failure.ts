import { STRATA } from './decision.ts';
import { sha256Hex } from './identity.ts';
import type { Scale } from './agreement/directed-score.ts';
import type { Score } from './score.ts';
import { column, jsonOf, listOf, type RowOf, type Table, wordOf } from './table.ts';

export const FAILURE_KINDS = [
  'claim',
  'tool-error',
  'tool-choice',
  'loop',
  'answer',
  'error',
  'feedback',
  'rule',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** Facts that two equal failures of a kind share. Texts are masked. */
export interface FailureSubject {
  readonly tool?: string;
  /** Field of a tool's result that contradicts a claim. */
  readonly path?: string;
  readonly errorType?: string;
  /** Of a claim the word of the judge, of a choice of tools the fault. */
  readonly verdict?: string;
  readonly answer?: string;
  readonly text?: string;
  /** Words of a document that contradict a claim. Not a part of the signature: claims with one of them are one issue. */
  readonly quote?: string;
  readonly scorer?: string;
}

/** Words of the judge's evidence against a claim. */
export interface FailureEvidence {
  readonly source: string;
  readonly quote: string;
  readonly spanId: string;
}

/** Words of a scorer about a run. */
export type JudgedRun = Pick<Score, 'scorer' | 'verdicts'> &
  Partial<Pick<Score, 'score' | 'reason' | 'source' | keyof Scale>>;

export interface Feedback {
  /** The comment, else the name of the event. */
  readonly text: string;
  readonly spanId: string;
}

export interface FoundFailure {
  readonly kind: FailureKind;
  readonly subject: FailureSubject;
  /** The failing words as shown. */
  readonly text: string;
  readonly scorer: string;
  /** Tool or document that contradicts. */
  readonly source: string;
  readonly spanId: string;
  readonly evidence: FailureEvidence | null;
}

/** Writes the signature of a failure in words: failures with an equal one, of one agent, are one issue. */
export function signFailure({ kind, subject }: Pick<FoundFailure, 'kind' | 'subject'>): string {
  const { tool = '', path = '', errorType = '', verdict = '', answer = '', text = '', scorer } = subject;
  return [kind, tool, path, errorType, verdict, answer, text, ...(scorer === undefined ? [] : [scorer])].join(
    '|',
  );
}

/** Computes the id that an issue with this signature has: 16 hex digits. */
export function computeIssueId(tenant: string, agent: string, signature: string): string {
  return sha256Hex(JSON.stringify([tenant, agent, signature])).slice(0, 16);
}

/** Definition of `failures`. */
export const FAILURES = {
  name: 'failures',
  columns: {
    tenant: column('LowCardinality(String)'),
    issueId: column('String'),
    /** Id of an issue with this signature alone: the id of the issue, or an alias of it. */
    signatureId: column('String'),
    failureId: column('String'),
    traceId: column('String'),
    targetId: column('String'),
    spanId: column('String'),
    agent: column('LowCardinality(String)'),
    agentVersion: column('LowCardinality(String)'),
    serviceVersion: column('LowCardinality(String)'),
    userId: column('String'),
    sessionId: column('String'),
    kind: wordOf(FAILURE_KINDS),
    /** The signature, as JSON. */
    subject: jsonOf<FailureSubject | null>(null),
    /** The failing words; '' once the spans have expired. */
    text: column('String'),
    evidence: jsonOf<FailureEvidence | null>(null),
    scorer: column('LowCardinality(String)'),
    /** Tool or document that contradicts. */
    source: column('String'),
    /** UTC day of the start of the run, `YYYY-MM-DD`. */
    day: column('Date'),
    traceTimestamp: column("DateTime64(3, 'UTC')", 'Start of the run.'),
    weight: column('Float64', 'Number of runs for which this one stands.'),
    inclusionProbability: column('Float64'),
    stratum: wordOf(STRATA),
    revision: column('UInt32'),
    /** Time of the last arrival covered. */
    evidenceUntil: column("DateTime64(3, 'UTC')"),
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** One row of `failures`. */
export type Failure = RowOf<typeof FAILURES>;

/** States of an issue that the store keeps; an open one is new or ongoing by its age. */
export const KEPT_STATES = ['open', 'escalating', 'fading', 'resolved', 'regressed', 'ignored'] as const;
export type KeptState = (typeof KEPT_STATES)[number];

/** Share of runs with its interval; `n` is the effective number of runs. */
export interface ShareRate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/** Test whether the version that an issue was resolved in is without it. */
export interface Verification {
  readonly version: string;
  readonly state: 'running' | 'verified' | 'not-verified';
  /** Share of the 30 days before the version; null without a run. */
  readonly before: ShareRate | null;
  /** Share since the version, with an interval that holds however often it is looked at. */
  readonly since: ShareRate | null;
  /** ISO 8601; null while the test runs. */
  readonly decidedAt: string | null;
}

/** Entry in the history of an issue: what a person did, or what the program found. */
export interface IssueEvent {
  readonly at: string;
  /** Name of the token; null without tokens, and for what the program found. */
  readonly by: string | null;
  readonly what: string;
}

/** Definition of `issues`. */
export const ISSUES = {
  name: 'issues',
  columns: {
    tenant: column('LowCardinality(String)'),
    issueId: column('String'),
    agent: column('LowCardinality(String)'),
    kind: wordOf(FAILURE_KINDS),
    title: column('String'),
    /** Traces that a judge wrote the title from; empty for a title by rule, and one '' where the judge gave none. */
    named: column('Array(String)'),
    /** Signature of the earliest failure, as JSON. */
    subject: jsonOf<FailureSubject | null>(null),
    state: wordOf(KEPT_STATES),
    resolvedVersion: column('String'),
    firstSeen: column("DateTime64(3, 'UTC')", 'Start of the first run with it.'),
    /** Ids of the other signatures of the issue, and of issues that were merged into it. */
    aliases: column('Array(String)'),
    /** Failures that people took out of another issue, each as trace id, signature id and the id of the issue that has it. */
    split: column('Array(String)'),
    /** Issues that it is never joined with: people split them. */
    apart: column('Array(String)'),
    history: listOf<IssueEvent>(),
    verification: jsonOf<Verification | null>(null),
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** One row of `issues`. */
export type IssueRow = RowOf<typeof ISSUES>;

/** Issue as it was read, with the version of its row. */
export interface StoredIssue extends IssueRow {
  readonly version: number;
}
