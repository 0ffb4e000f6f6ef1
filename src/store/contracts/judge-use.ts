import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import type { TraceKey } from './stores.ts';

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
  /** Number of failed calls by reason, also of those whose reply could not be used. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Size and cost of a call that was answered, without its texts. */
export interface CallSize extends Pick<
  JudgeCallRecord,
  'tenant' | 'traceId' | 'scoreId' | 'scorer' | 'step' | 'model' | 'costUsd' | 'durationMs' | 'calledAtMs'
> {
  /** UTF-8 bytes of the stored prompt. */
  readonly promptBytes: number;
  /** True when the prompt contains the text that marks a repeated question. */
  readonly isRepeat: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface CallSizeQuery {
  /** Undefined: of all tenants. */
  readonly tenant?: string | undefined;
  readonly scorers: readonly string[];
  /** Text that only the prompt of a repeated question contains. */
  readonly repeatMark: string;
  /** Most calls of each scorer and judge; the newest ones are read. */
  readonly limit: number;
}

export interface JudgeUseStore {
  /** Reads the sizes of answered calls whose tokens are known, for each scorer, judge and score the oldest first. */
  sizes(query: CallSizeQuery): Promise<readonly CallSize[]>;
  /** Reads the calls for some scores of one trace, the oldest first. */
  callsOf(key: TraceKey, scoreIds: readonly string[]): Promise<readonly JudgeCallRecord[]>;
  /** Reads the use of each judge since a time (Unix milliseconds), as a whole and by hours, the oldest hour first. */
  since(range: {
    readonly tenant?: string | undefined;
    readonly sinceMs: number;
  }): Promise<readonly JudgeUse[]>;
}
