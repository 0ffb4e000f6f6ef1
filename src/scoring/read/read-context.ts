import type { ReadingOptions, TraceReading } from '../../domain/trace/agent-run.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import type { SweepSettings } from '../../readiness/sweep.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import type { SessionContent } from '../sessions/session-content.ts';
import type { PieceCache } from './piece-cache.ts';
import type { ContentMemory } from './read-memory.ts';
import type { TraceJoiner } from './trace-joiner.ts';

/** Reads the agent runs of a trace. */
export type TraceReader = (data: TraceData, options?: ReadingOptions) => TraceReading | Promise<TraceReading>;

/** Needs of the reading of traces. */
export interface ReadContext {
  readonly stores: Pick<ScoringStores, 'spans'>;
  readonly readTrace: TraceReader;
  /** Called with each session that was read, before its scorers run. */
  readonly onSession?: ((content: SessionContent) => void) | undefined;
  /** Null: every trace is read by itself. */
  readonly joining: { readonly joiner: TraceJoiner; readonly cache: PieceCache } | null;
  readonly contentMemory: ContentMemory;
  readonly readiness: SweepSettings;
  readonly log: Log;
}
