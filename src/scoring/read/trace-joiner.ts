import type { TraceData } from '../../domain/span.ts';
import type { JoinedTrace, TracePiece } from '../../domain/joined-trace.ts';

/** Tells pieces of runs from runs, and puts them together: some instrumentations make a trace of every model call. */
export interface TraceJoiner {
  /** Most spans that a piece has. */
  readonly maxPieceSpans: number;
  /** Undefined for a trace that is a run by itself, or no part of one. */
  readPiece(trace: TraceData): TracePiece | undefined;
  /** The order of the traces does not matter. */
  join(traces: readonly TraceData[]): readonly JoinedTrace[];
}
