import type { z } from 'zod';
import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { TargetKind, TraceReading } from '../../domain/trace/agent-run.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import type { Estimate } from '../schemas/estimate-schema.ts';

/** Preview of a rule over the traces or sessions of a range. Times are Unix milliseconds. */
export interface PreviewView {
  readonly rule: {
    readonly name: string;
    readonly target: TargetKind;
    readonly scorers: readonly {
      readonly name: string;
      readonly fingerprint: string;
      readonly judgeModel: string;
    }[];
  };
  /** Version of the rule with this name that is in force; null without one. */
  readonly inForce: { readonly activeFromMs: number; readonly isSame: boolean } | null;
  readonly fromMs: number;
  readonly toMs: number;
  readonly matched: number;
  readonly selected: number;
  readonly left: Readonly<Record<string, number>>;
  readonly isComplete: boolean;
  readonly estimate: z.output<typeof Estimate>;
  readonly weeks: number;
  readonly traces: readonly PreviewedTraceView[];
  readonly monitors: readonly {
    readonly alert: string;
    readonly series: string;
    readonly scores: number;
    readonly firedAtMs: readonly number[];
  }[];
}

/** One trace or session that was really judged. */
export interface PreviewedTraceView {
  /** A session has no trace id. */
  readonly key: TraceKey;
  /** '' for a trace. */
  readonly sessionId: string;
  readonly reading: TraceReading | null;
  readonly decisions: readonly Decision[];
  readonly scores: readonly Score[];
  /** Stored scores of the same scorers. */
  readonly stored: readonly Score[];
  readonly error: Error | null;
}
