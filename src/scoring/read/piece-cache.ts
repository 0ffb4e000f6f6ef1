import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { countChars, type Piece } from './piece.ts';

/** Most traces in the cache, and most characters of their attributes together. */
const MAX_ENTRIES = 4_096;
const MAX_CHARS = 32 * 1024 * 1024;

interface Entry {
  readonly lastArrivalMs: number;
  /** Null for a trace that is not a piece of a run. */
  readonly piece: Piece | null;
  readonly chars: number;
}

/** Cache of traces that were read as possible pieces of a run, so that the traces of a busy service are read once. */
export interface PieceCache {
  /** Returns undefined when the cache has no entry of the trace with this last arrival. */
  get(key: TraceKey, lastArrivalMs: number): Piece | null | undefined;
  set(key: TraceKey, lastArrivalMs: number, piece: Piece | null): void;
  /** Forgets all traces. */
  clear(): void;
}

/** Creates a cache that drops its oldest entries when it is full. */
export function createPieceCache(): PieceCache {
  const entries = new Map<string, Entry>();
  let chars = 0;
  const drop = (name: string): void => {
    chars -= entries.get(name)?.chars ?? 0;
    entries.delete(name);
  };
  return {
    clear: () => {
      entries.clear();
      chars = 0;
    },
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
