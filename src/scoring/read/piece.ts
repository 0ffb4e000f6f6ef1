import type { TraceData, TracePiece } from '../../domain/trace/span.ts';
import type { TraceActivity } from '../../store/contracts/stores.ts';

/** A trace that was read, with its activity from before the read. */
export interface ReadPiece {
  readonly activity: TraceActivity;
  readonly data: TraceData;
}

/** A trace that may be one piece of a run. */
export interface Piece extends ReadPiece {
  readonly piece: TracePiece;
}

/** Counts the characters of attributes and log bodies, which can be long. */
export function countChars({ data }: Pick<Piece, 'data'>): number {
  let chars = 0;
  for (const { attributes, events } of data.spans) {
    for (const each of [attributes, ...events.map((event) => event.attributes)]) {
      each.forEach((value) => (chars += value.length));
    }
  }
  data.logs.forEach((log) => (chars += log.body.length));
  return chars;
}
