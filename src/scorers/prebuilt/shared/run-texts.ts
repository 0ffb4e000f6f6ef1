import { InvalidInputError } from '../../../domain/errors.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { extractInputMessages } from '../../utils/run-input.ts';
import { extractAgentResponseMessages } from '../../utils/run-output.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Separator between the texts of two messages. */
const SEPARATOR = ', ';

/** Reads the text of all input messages; '' for a run without input. */
export function readInputText({ input }: ScorerRunInput): string {
  if (input === undefined || input === null) {
    return '';
  }
  if (!isObject(input) || !Array.isArray(input['inputMessages'])) {
    throw new InvalidInputError('run.input must be the input of an agent run: { inputMessages: […], … }');
  }
  return extractInputMessages(input).join(SEPARATOR);
}

/** Reads the text of all output messages; '' for a run without output. */
export function readOutputText({ output }: ScorerRunInput): string {
  if (output === undefined || output === null) {
    return '';
  }
  if (!Array.isArray(output)) {
    throw new InvalidInputError('run.output must be the output of an agent run: a list of messages');
  }
  return extractAgentResponseMessages(output).join(SEPARATOR);
}
