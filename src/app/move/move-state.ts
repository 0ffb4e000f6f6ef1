import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InvalidInputError } from '../../domain/errors.ts';
import { writeWhole } from '../../store/embedded/whole-file.ts';

const stateSchema = z.object({
  url: z.string(),
  database: z.string(),
  /** Ends of the ranges of the passes, Unix milliseconds. A range that was compared is closed for ever. */
  untilMs: z.array(z.number()),
});

/** Passes of a move, so that a move that was killed goes on with the same ranges. */
export type MoveState = z.infer<typeof stateSchema>;

function formatPath(dataDir: string): string {
  return join(dataDir, 'move.json');
}

/** Reads the state of the move into a target, or begins a new one. Throws when a move into another target has not ended. */
export function readMoveState(dataDir: string, target: Omit<MoveState, 'untilMs'>): MoveState {
  const path = formatPath(dataDir);
  if (!existsSync(path)) {
    return { ...target, untilMs: [] };
  }
  const state = stateSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  if (state.url !== target.url || state.database !== target.database) {
    throw new InvalidInputError(
      `a move to ${state.url}, database ${state.database}, has not ended: run it again, or remove ${path} to give it up`,
    );
  }
  return state;
}

/** Writes the state of a move in one step. */
export function writeMoveState(dataDir: string, state: MoveState): void {
  writeWhole(formatPath(dataDir), JSON.stringify(state));
}

/** Removes the state of a move that has ended. */
export function removeMoveState(dataDir: string): void {
  rmSync(formatPath(dataDir), { force: true });
}
