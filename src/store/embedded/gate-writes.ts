import { SECOND_MS } from '../../domain/durations.ts';
import { EngineError } from './engine-error.ts';
import type { FrontAccount } from './http-front.ts';
import { formatMoved, readMoved } from './moved-file.ts';
import type { StatementRunner } from './statement-runner.ts';
import { WRITE_LEVELS, WriteGate, type WriteLevel } from './write-gate.ts';

/** Puts a gate before the writes of the owner, with the order that opens and closes it. It is closed for a store that was moved. */
export function gateWrites(
  dataDir: string,
  run: StatementRunner,
): Required<Pick<FrontAccount, 'run' | 'control'>> {
  const gate = new WriteGate(() => {
    const moved = readMoved(dataDir);
    return moved === undefined ? undefined : formatMoved(moved);
  });
  return { run: gate.guard(run), control: (parameters) => obey(gate, parameters) };
}

/**
 * Sets which writes are accepted: `writes` is the level, `seconds` the time for which it holds. A moved store stays as it is. Returns the
 * level before.
 */
async function obey(gate: WriteGate, parameters: URLSearchParams): Promise<WriteLevel> {
  const level = WRITE_LEVELS.find((each) => each === parameters.get('writes'));
  const seconds = Number(parameters.get('seconds'));
  if (level === undefined || !(seconds > 0)) {
    throw new EngineError(
      'BAD_ARGUMENTS',
      `writes is one of ${WRITE_LEVELS.join(', ')}, and seconds above 0`,
    );
  }
  return gate.hold(level, 'the store is being moved: try again in a moment', seconds * SECOND_MS);
}
