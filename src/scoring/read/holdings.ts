import type { TraceData } from '../../domain/trace/span.ts';
import type { Room } from '../attempt/run-stock.ts';
import type { ContentMemory } from './read-memory.ts';

/** Content in memory and room in stocks that a batch holds. */
export interface Holdings {
  addContent(data: TraceData): void;
  readonly releaseContent: (data: TraceData) => void;
  addRoom(room: Room | undefined): void;
  releaseAll(): void;
}

export function createHoldings(memory: ContentMemory): Holdings {
  const held = new Set<TraceData>();
  const rooms = new Set<Room>();
  const releaseContent = (data: TraceData) => {
    if (held.delete(data)) {
      memory.release(data);
    }
  };
  return {
    addContent: (data) => void held.add(data),
    releaseContent,
    addRoom: (room) => void (room !== undefined && rooms.add(room)),
    releaseAll() {
      held.forEach(releaseContent);
      rooms.forEach((room) => room.release());
    },
  };
}
