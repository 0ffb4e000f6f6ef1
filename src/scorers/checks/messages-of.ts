import { InvalidInputError } from '../../domain/errors.ts';

/** The messages of a run's output; none for a run without output. Throws for what is no list: a check of it would be a guess. */
export function listMessages(output: unknown): readonly unknown[] {
  if (output !== undefined && output !== null && !Array.isArray(output)) {
    throw new InvalidInputError('run.output must be the output of an agent run: a list of messages');
  }
  return output ?? [];
}
