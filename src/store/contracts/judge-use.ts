import type { JudgeCallRecord, TraceKey } from './stores.ts';

/** Calls of one judge in one hour, or in the whole range. */
export interface JudgeUse {
  /** `provider/model`. */
  readonly judge: string;
  /** Start of the hour, Unix milliseconds; null for the whole range. */
  readonly hourMs: number | null;
  readonly calls: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly scorers: readonly string[];
  /** Number of failed calls by reason. */
  readonly failures: Readonly<Record<string, number>>;
}

export interface JudgeUseStore {
  /** Reads the calls for some scores of one trace, the oldest first. */
  callsOf(key: TraceKey, scoreIds: readonly string[]): Promise<readonly JudgeCallRecord[]>;
  /** Reads the use of each judge since a time (Unix milliseconds), as a whole and by hours, the oldest hour first. */
  since(range: {
    readonly tenant?: string | undefined;
    readonly sinceMs: number;
  }): Promise<readonly JudgeUse[]>;
}
