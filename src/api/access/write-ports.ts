import type { PreviewView } from '../lists/preview-view.ts';
import type { Decision } from '../../domain/decision.ts';
import type { DeployMarker } from '../../domain/deploy-marker.ts';
import type { Score } from '../../domain/score.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { Mute } from '../../monitors/mute.ts';
import type { Job, JobOrder } from '../../store/contracts/jobs.ts';
import type { PurgeKind } from '../../store/contracts/purge.ts';

/** Actions of the API, as the audit names them. */
export type AuditAction =
  | 'session.begin'
  | 'session.end'
  | 'alert.acknowledge'
  | 'mute.set'
  | 'mute.end'
  | 'marker.record'
  | 'label.post'
  | 'label.import'
  | 'score.post'
  | 'score.delete'
  | 'trace.score'
  | 'trace.purge'
  | 'session.purge'
  | 'user.purge'
  | 'tenant.purge'
  | 'rescore.start'
  | 'rule.preview'
  | 'sql.run'
  | 'backfill.preview'
  | 'backfill.start'
  | 'backfill.pause'
  | 'backfill.resume'
  | 'backfill.cancel';

/** Thing that a write changes. Ids of traces, sessions, users and tenants are stored as hashes. */
export interface AuditSubject {
  readonly kind:
    | 'trace'
    | 'session'
    | 'user'
    | 'tenant'
    | 'score'
    | 'incident'
    | 'alert'
    | 'service'
    | 'rule'
    | 'scorer'
    | 'backfill'
    | 'sign-in';
  readonly id: string;
}

/** A write, as a caller asks for it. */
export interface AuditedWrite {
  readonly action: AuditAction;
  readonly subjects: readonly AuditSubject[];
}

/** Writes of handlers, within the tenant of the caller. */
export interface WritePorts {
  readonly alerts: AlertWrites;
  readonly markers: MarkerWrites;
  readonly scores: ScoreWrites;
  readonly labels: LabelWrites;
  readonly purges: PurgeWrites;
  readonly backfills: BackfillWrites;
  readonly previews: PreviewWrites;
}

/** Changes of alerts. */
export interface AlertWrites {
  acknowledge(incidentId: string): Promise<AlertEvent>;
  mute(subject: string, untilMs: number): Promise<Mute>;
  /**
   * Ends a mute.
   * @param tenant tenant of the mute, where several have muted the subject
   */
  unmute(subject: string, tenant?: string): Promise<Mute>;
}

/** Changes of deploy markers. */
export interface MarkerWrites {
  record(marker: Omit<DeployMarker, 'tenant'>): Promise<DeployMarker>;
}

/** Score of a person or of a program of the user. */
export interface PostedScore {
  /** '' for a score of a session. */
  readonly traceId: string;
  /** '' for a score of the whole run. */
  readonly spanId: string;
  readonly sessionId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly reason: string;
  readonly source: 'human' | 'api';
  /** Default: the name of the token. */
  readonly scoredBy?: string | undefined;
}

/** Scoring that somebody asks for. */
export interface ScoreRequest {
  readonly traceId: string;
  readonly scorers: readonly string[];
  /** True: the results are stored. */
  readonly write: boolean;
}

/** Results of such a scoring. */
export interface ScoredNow {
  readonly scores: readonly Score[];
  readonly decisions: readonly Decision[];
}

/** Changes of scores. */
export interface ScoreWrites {
  /**
   * Stores one score or a list of them, or replaces those of the same target, scorer and author. Returns their ids.
   * @param tenant tenant of the targets, where several have them
   */
  post(scores: PostedScore | readonly PostedScore[], tenant?: string): Promise<readonly string[]>;
  delete(scoreId: string): Promise<void>;
  /** Runs scorers on a trace. The signal stops them. */
  run(request: ScoreRequest, signal: AbortSignal): Promise<ScoredNow>;
}

/** Judgement of a reviewer on a target. */
export interface GivenLabel extends Pick<
  PostedScore,
  'traceId' | 'spanId' | 'sessionId' | 'scorer' | 'label'
> {
  /** True for a target that passes; or its score on the scale of the scorer. */
  readonly answer: boolean | number;
  readonly note: string;
  /** Default: the name of the token. */
  readonly reviewer?: string | undefined;
}

/** Stored label with what it is compared with. */
export interface LabelView {
  readonly scoreId: string;
  readonly reviewer: string;
  readonly score: number;
  /** Null without a score of the scorer. */
  readonly agrees: boolean | null;
  /** Scores of the scorer on the target, newest first. */
  readonly scores: readonly Score[];
}

/** Labels of reviewers. */
export interface LabelWrites {
  /**
   * Throws an `InvalidInputError` when the scale of the scorer is needed and not known.
   * @param tenant tenant of the target, where several have it
   */
  store(label: GivenLabel, tenant?: string): Promise<LabelView>;
}

/** Thing to purge. */
export interface PurgeRequest {
  readonly kind: PurgeKind;
  readonly id: string;
  /** Tenant of the thing, where several have it. */
  readonly tenant?: string | undefined;
}

/** Purge that has begun. */
export interface StartedPurge {
  /** Id of its job. */
  readonly id: string;
  /** Data that stays all the same; null for none. */
  readonly remains: string | null;
}

/** Erasures. */
export interface PurgeWrites {
  start(request: PurgeRequest): Promise<StartedPurge>;
}

/** Backfill that a caller asks for. Times are Unix milliseconds; absent limits do not limit. */
export interface AskedBackfill {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rules?: readonly string[] | undefined;
  readonly scorers?: readonly string[] | undefined;
  /** Conditions as in a rule of the configuration. */
  readonly where?: unknown;
  /** Part of the traces, instead of the samples of the rules. */
  readonly sample?: number | undefined;
  readonly rescore?: boolean | undefined;
  readonly limits: {
    readonly tracesPerSecond?: number | undefined;
    readonly maxCostUsd?: number | undefined;
    readonly concurrency?: number | undefined;
    readonly judgeShare?: number | undefined;
  };
}

/** Backfills. */
export interface BackfillWrites {
  /** Starts a backfill, or finds the open one with the same specification. Throws an `InvalidInputError` for one that cannot be made. */
  start(asked: AskedBackfill): Promise<Job>;
  /** Says what it would do and cost, and stores nothing. */
  dryRun(asked: AskedBackfill): Promise<object>;
  /** Throws an `InvalidInputError` when the backfill has ended. */
  order(id: string, order: JobOrder): Promise<Job>;
}

/** Preview of a rule that a caller asks for. */
export interface AskedPreview {
  /** Name of a rule, or a rule as the configuration has it. */
  readonly rule: unknown;
  /** Length of the range up to now, milliseconds. */
  readonly lastMs: number;
  /** Traces that are really judged. */
  readonly sample: number;
}

/** Previews of rules: they cost money, and store nothing else. */
export interface PreviewWrites {
  /** Throws an `InvalidInputError` for a rule that cannot be previewed. */
  preview(asked: AskedPreview): Promise<PreviewView>;
}
