/** Identity of a trace. */
export interface TraceRef {
  readonly tenant: string;
  readonly traceId: string;
}

/** Arrivals of one trace within a time range, by the store's clock. */
export interface ArrivedTrace extends TraceRef {
  readonly firstArrivalMs: number;
  readonly lastArrivalMs: number;
  readonly spanIds: readonly string[];
  readonly parentIds: readonly string[];
  readonly rootSeen: boolean;
  readonly agentSeen: boolean;
}

/** Port of the tail: the store's clock and its arrivals. */
export interface ArrivalFeed {
  nowMs(): Promise<number>;
  /** Arrivals in [fromMs, toMs), grouped by trace. */
  arrivals(fromMs: number, toMs: number): Promise<ArrivedTrace[]>;
}

/** A trace's name as one string, for maps. */
export function refKey(ref: TraceRef): string {
  return `${ref.tenant} ${ref.traceId}`;
}
