import type { Attributes } from '../../domain/trace/span.ts';
import { readText } from '../attributes.ts';
import { field, type Fields, parseIfText, structureIn } from '../json.ts';
import { answerIn, questionIn } from '../messages/free-values.ts';
import { openPrintedArguments } from '../messages/printed-items.ts';
import { outcomeFacts, readOutcome } from '../messages/tool-outcome.ts';
import type { SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Name of a transfer's span. It names the two agents; arguments and result are in the messages. */
const HANDOFF = /^hand ?off[ _]to[ _]/i;

/** Reads a tool span of OpenInference, whose input and output depend on the framework. */
export function toolFacts({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const name = readText(attributes, 'tool.name') ?? span.name.replace(/\.(__call__|run)$/, '');
  if (HANDOFF.test(name)) {
    return { toolName: name };
  }
  const output = readText(attributes, 'output.value');
  const result = readOutcome(parseIfText(output));
  const args = findArgs(attributes);
  return {
    ...outcomeFacts(result),
    toolName: name,
    toolCallId: readText(attributes, 'tool.id', 'tool_call.id') ?? result.id,
    ...(args === undefined ? {} : { toolArgs: args }),
    ...(args === undefined ? {} : delegatedFacts(args, result.value)),
  };
}

/** Reads the call of a sub-agent in the Claude Agent SDK, whose own span has neither name, question nor answer. */
function delegatedFacts(args: Fields, result: unknown): SpanFacts {
  const [agent, prompt] = [textOrUndefined(field(args, 'subagent_type')), field(args, 'prompt')];
  return agent === undefined ? {} : { agent, input: questionIn(prompt), output: answerIn(result) };
}

/** Finds the arguments when they are an object; a bare value has no name any more, but the model's call has it. */
function findArgs(attributes: Attributes): Fields | undefined {
  for (const key of ['input.value', 'tool_call.function.arguments', 'tool.parameters']) {
    const text = readText(attributes, key);
    const value = text === undefined ? undefined : (structureIn(text) ?? openPrintedArguments(text));
    if (isRecord(value) && !isSchema(value)) {
      const named = field(value, 'kwargs');
      return isRecord(named) ? named : value;
    }
  }
  return undefined;
}

function isSchema(value: Fields): boolean {
  return field(value, 'type') === 'object' || isRecord(field(value, 'properties'));
}
