import { InvalidInputError } from '../../domain/errors.ts';

/**
 * Lists the messages of a run's output; empty for a run without output. Throws for an output that is no list, because any
 * result would be a guess.
 */
export function listMessages(output: unknown): readonly unknown[] {
  if (output !== undefined && output !== null && !Array.isArray(output)) {
    throw new InvalidInputError('run.output must be the output of an agent run: a list of messages');
  }
  return output ?? [];
}
