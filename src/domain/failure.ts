import { STRATA } from './decision.ts';
import { sha256Hex } from './identity.ts';
import type { Verdict } from './score.ts';
import { column, jsonOf, listOf, type RowOf, type Table, wordOf } from './table.ts';

/** Kinds of failures of a run. */
export const FAILURE_KINDS = ['claim', 'tool-error', 'loop', 'answer', 'error'] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** Facts that two equal failures of a kind share. Texts are masked. */
export interface FailureSubject {
  readonly tool?: string;
  /** Field of a tool's result that contradicts a claim. */
  readonly path?: string;
  readonly errorType?: string;
  readonly verdict?: string;
  readonly answer?: string;
  readonly text?: string;
}

/** Words of the judge's evidence against a claim. */
export interface FailureEvidence {
  readonly source: string;
  readonly quote: string;
  readonly spanId: string;
}

/** Words of a scorer about a run. */
export interface JudgedRun {
  readonly scorer: string;
  readonly verdicts: readonly Verdict[];
}

/** A failure of one run. */
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
  const { tool = '', path = '', errorType = '', verdict = '', answer = '', text = '' } = subject;
  return [kind, tool, path, errorType, verdict, answer, text].join('|');
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

/** States of an issue that the store keeps: the other ones follow from its failures. */
export const KEPT_STATES = ['open', 'resolved', 'ignored'] as const;

/** Entry in the history of an issue: what a person did. */
export interface IssueEvent {
  readonly at: string;
  /** Name of the token; null without tokens. */
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
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** One row of `issues`. */
export type IssueRow = RowOf<typeof ISSUES>;
