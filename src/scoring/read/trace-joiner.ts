import type { TraceData, JoinedTrace, TracePiece } from '../../domain/trace/span.ts';

/** Finds and joins the pieces of runs: some instrumentations make a trace of every model call. */
export interface TraceJoiner {
  /** Most spans of one piece. */
  readonly maxPieceSpans: number;
  /** Returns undefined for a trace that is not a piece of a run. */
  readPiece(trace: TraceData): TracePiece | undefined;
  /** Joins traces in any order. */
  join(traces: readonly TraceData[]): readonly JoinedTrace[];
}
