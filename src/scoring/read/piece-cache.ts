import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { countChars, type Piece } from './piece.ts';

/** Most traces that are remembered, and most characters of attributes that they hold together. */
const MAX_ENTRIES = 4_096;
const MAX_CHARS = 32 * 1024 * 1024;

interface Entry {
  readonly lastArrivalMs: number;
  /** Null for a trace that is no piece of a run. */
  readonly piece: Piece | null;
  readonly chars: number;
}

/** Traces that were looked at as pieces of a run, so that a busy service's traces are not read again for each other. */
export interface PieceCache {
  /** Undefined when nothing is known of the trace as it was at its last arrival. */
  get(key: TraceKey, lastArrivalMs: number): Piece | null | undefined;
  set(key: TraceKey, lastArrivalMs: number, piece: Piece | null): void;
}

/** The oldest entries make room. */
export function createPieceCache(): PieceCache {
  const entries = new Map<string, Entry>();
  let chars = 0;
  const drop = (name: string): void => {
    chars -= entries.get(name)?.chars ?? 0;
    entries.delete(name);
  };
  return {
    get: (key, lastArrivalMs) => {
      const entry = entries.get(joinTraceKey(key));
      return entry?.lastArrivalMs === lastArrivalMs ? entry.piece : undefined;
    },
    set: (key, lastArrivalMs, piece) => {
      const name = joinTraceKey(key);
      drop(name);
      const size = piece === null ? 0 : countChars(piece);
      entries.set(name, { lastArrivalMs, piece, chars: size });
      chars += size;
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_ENTRIES && chars <= MAX_CHARS) {
          break;
        }
        drop(oldest);
      }
    },
  };
}
