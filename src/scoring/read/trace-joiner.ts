import type { TraceData } from '../../domain/span.ts';

/** Facts by which a trace may be one piece of a run. */
export interface TracePiece {
  readonly service: string;
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  /** The rest of its run may be in other traces: it is worth while to look for them. */
  readonly isOpen: boolean;
}

/** A run that came as several traces, or one trace as it came. */
export interface JoinedTrace {
  /** Its trace id is that of the one member that owns the run. */
  readonly data: TraceData;
  readonly members: readonly TraceData[];
  /** False for pieces of a run whose end has not come. */
  readonly finished: boolean;
}

/** Tells pieces of runs from runs, and puts them together: some instrumentations make a trace of every model call. */
export interface TraceJoiner {
  /** Most spans that a piece has. */
  readonly maxPieceSpans: number;
  /** Undefined for a trace that is a run by itself, or no part of one. */
  readPiece(trace: TraceData): TracePiece | undefined;
  /** The order of the traces does not matter. */
  join(traces: readonly TraceData[]): readonly JoinedTrace[];
}
