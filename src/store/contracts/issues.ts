import type { FailureKind, FailureSubject } from '../../domain/failure.ts';

/** Failures with one signature. */
export interface Signature {
  readonly tenant: string;
  readonly agent: string;
  readonly kind: FailureKind;
  readonly signatureId: string;
  /** Subject of the earliest run with it. */
  readonly subject: FailureSubject;
  /** Masked words of documents that contradict it. */
  readonly quotes: readonly string[];
  /** Issues that its rows name now. */
  readonly issueIds: readonly string[];
  /** Start of the earliest run with it, Unix milliseconds, and its trace. */
  readonly firstSeen: number;
  readonly firstTrace: string;
}

/** Failures of an issue with one signature. */
export interface SignatureTraces {
  readonly signatureId: string;
  /** Traces of the request with a failure of the signature. */
  readonly named: readonly string[];
  /** Number of failures in other traces. */
  readonly others: number;
  readonly firstSeen: number;
  readonly firstTrace: string;
}

/** Runs of a segment, and those of an issue among them. */
export interface SegmentCount {
  readonly dimension: string;
  readonly value: string;
  readonly all: number;
  readonly runs: number;
  /** Sum of the weights, and of weight × (weight − 1). */
  readonly weight: number;
  readonly excess: number;
}

/** Range and conditions of the numbers of issues. Times are Unix milliseconds. */
export interface IssueQuery {
  readonly tenant: string | undefined;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly agent?: string | undefined;
  /** Any of these versions of the agent, else of its service. */
  readonly versions?: readonly string[] | undefined;
  readonly environments?: readonly string[] | undefined;
  readonly issueId?: string | undefined;
}

/** Number of points of the line of an issue. */
export const POINTS = 14;

/** Numbers of an issue in a range. */
export interface IssueCount {
  readonly tenant: string;
  readonly issueId: string;
  readonly runs: number;
  /** Sum of the weights, and of weight × (weight − 1). */
  readonly weight: number;
  readonly excess: number;
  readonly users: number;
  readonly sessions: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Weights by part of the range. */
  readonly points: readonly number[];
  /** The same sums by version. */
  readonly versions: readonly VersionCount[];
}

/** Numbers of an issue in a range, for one version. */
export interface VersionCount extends Pick<IssueCount, 'runs' | 'weight' | 'excess'> {
  readonly version: string;
}

/** Number of runs of an agent, for one version and one part of the range. */
export interface RunCount {
  readonly tenant: string;
  readonly agent: string;
  readonly version: string;
  readonly bucket: number;
  readonly runs: number;
}

/** Failing runs with an issue that began in one hour, by version of their agent. */
export interface FailingHour {
  readonly tenant: string;
  readonly issueId: string;
  readonly version: string;
  /** Start of the hour, Unix milliseconds. */
  readonly hourMs: number;
  readonly weights: readonly number[];
  /** Runs of each weight. */
  readonly counts: readonly number[];
}

/** Runs of an agent that began in one hour, by version. */
export interface RunHour {
  readonly tenant: string;
  readonly agent: string;
  readonly version: string;
  readonly hourMs: number;
  readonly runs: number;
  /** Start of the first of them. */
  readonly firstMs: number;
}
