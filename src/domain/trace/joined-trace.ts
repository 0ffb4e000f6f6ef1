import type { TraceData } from './span.ts';

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
  /** Under the trace id of the member that owns the run: of the step around the members, else of the earliest. */
  readonly data: TraceData;
  /** The traces that it is made of, by start; itself alone when nothing was joined. */
  readonly members: readonly TraceData[];
  /** False for pieces of a run whose answer, or whose asking call, has not come. */
  readonly finished: boolean;
}
