import type { VersionFacts } from '../../../domain/agreement/agreement.ts';
import type { Scale } from '../../../domain/agreement/directed-score.ts';
import type { TargetKind } from '../../../domain/trace/agent-run.ts';
import type { Score } from '../../../domain/score.ts';

/** Choice of the targets of a reviewer. */
export interface LabelQuery {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Name of the score rows. */
  readonly scorer: string;
  /** Fingerprint of the reviewer's scores. */
  readonly fingerprint: string;
  /** Oldest start, Unix milliseconds. */
  readonly sinceMs: number;
}

/** Target that a scorer has scored, with the place of its newest score. */
export interface LabelTarget {
  readonly tenant: string;
  readonly target: TargetKind;
  readonly targetId: string;
  readonly traceId: string;
  /** '' for a session, and for a whole run. */
  readonly spanId: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly service: string;
  readonly environment: string;
  /** Start of the run, Unix milliseconds. */
  readonly startMs: number;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
  /** Label that the scorer gave; '' for none. */
  readonly label: string;
  /** Fifth of the range that the score is in, from 0. */
  readonly band: number;
  /** Random number from 0 to 1: the same for the same seed and target. */
  readonly draw: number;
}

/** Scorer of a range of time. Times are Unix milliseconds. */
export interface LabelledScorer {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Name of the score rows. */
  readonly scorer: string;
  /** Oldest start. */
  readonly sinceMs: number;
}

/** Version of a scorer, with its scores of a range. */
export interface ScorerVersion extends VersionFacts {
  /** Weights of the scores in each part of the directed range (`listPartLimits`): live scores, or those of backfills where there are none. */
  readonly weights: readonly number[];
}

/** Version of a scorer of which some targets have labels. */
export type LabelledVersion = Omit<VersionFacts, 'scores'> & { readonly scorer: string };

/** Reviewer with labels in a range. */
export interface Reviewer {
  readonly reviewer: string;
  readonly fingerprint: string;
  readonly labels: number;
}

/** Reads what people label, and posted scores. */
export interface LabelStore {
  /**
   * Reads the first targets of each label and band by their draw, among those without a score of the reviewer, and the number of
   * all such targets.
   */
  unlabelled(
    query: LabelQuery & { readonly seed: string; readonly perStratum: number },
  ): Promise<{ readonly left: number; readonly targets: readonly LabelTarget[] }>;
  /** Counts the targets that have a score of the reviewer. */
  countLabelled(query: LabelQuery): Promise<number>;
  /** Reads the versions of a scorer, the last used first. */
  versions(query: LabelledScorer & { readonly passLine: number }): Promise<readonly ScorerVersion[]>;
  /** Reads the versions of all scorers with a labelled target, the last used first. */
  labelledVersions(query: {
    readonly sinceMs: number;
    readonly limit: number;
  }): Promise<readonly LabelledVersion[]>;
  /** Reads the reviewers with the most labels. */
  reviewers(query: LabelledScorer & { readonly limit: number }): Promise<readonly Reviewer[]>;
  /** Reads the tenants that have these traces or sessions, in order, by id. An unknown id is absent. */
  tenantsOf(
    kind: 'trace' | 'session',
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * Reads the scales of scorers by the names of their rows: those of the newest scores of the last 30 days. A name without such a score
   * is absent.
   */
  scales(query: {
    readonly scorers: readonly string[];
    readonly tenants: readonly string[];
  }): Promise<ReadonlyMap<string, Scale>>;
  /** Reads scores that were posted before their run was known, and written since a time (Unix milliseconds): the newest ones. */
  unjoined(query: { readonly writtenSinceMs: number; readonly limit: number }): Promise<readonly Score[]>;
}
