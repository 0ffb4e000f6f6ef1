import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** True for the input of an agent run: three lists of messages and the tagged system messages. */
export function isScorerRunInputForAgent(input: unknown): input is AgentInput {
  return (
    isObject(input) &&
    Array.isArray(input['inputMessages']) &&
    Array.isArray(input['rememberedMessages']) &&
    Array.isArray(input['systemMessages']) &&
    isObject(input['taggedSystemMessages']) &&
    !Array.isArray(input['taggedSystemMessages'])
  );
}

/** True for the output of an agent run: a list, possibly empty, of stored messages. */
export function isScorerRunOutputForAgent(output: unknown): output is AgentOutput {
  return (
    Array.isArray(output) &&
    output.every(
      (item) =>
        isObject(item) &&
        typeof item['id'] === 'string' &&
        typeof item['role'] === 'string' &&
        'content' in item &&
        'createdAt' in item,
    )
  );
}
