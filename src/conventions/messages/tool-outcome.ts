import { field, type Fields, firstField, parseValue, listIn } from '../json.ts';
import type { SpanFacts } from '../normalised-span.ts';
import { argumentsIn } from './free-values.ts';
import { fromLangChain } from './langchain-messages.ts';
import { failureIn, hasFailed, plainText, unwrapBlock } from './part-reader.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Result or error of a tool call, with the call's id and name when they are known. */
export interface ToolOutcome {
  value?: unknown;
  id?: string | undefined;
  name?: string | undefined;
  error?: string;
}

/** Reads the result from the wrappers that frameworks put around it. An absent output gives an empty outcome. */
export function readOutcome(output: unknown): ToolOutcome {
  if (!isRecord(output)) {
    return { value: unwrapBlock(output) };
  }
  const nested = field(output, 'output');
  const inner = isRecord(nested) ? nested : output;
  const message = fromLangChain(inner) ?? commandMessage(inner);
  if (message !== undefined) {
    const content = plainText(field(message, 'content'));
    const id = textOrUndefined(field(message, 'tool_call_id'));
    const name = textOrUndefined(field(message, 'name'));
    return field(message, 'status') === 'error'
      ? { id, name, error: content }
      : { id, name, value: parseValue(content) };
  }
  const content = field(output, 'content');
  if (Array.isArray(content) && (Object.hasOwn(output, 'agentId') || isContentOnly(output))) {
    const value = unwrapBlock(content);
    const error = failureIn(output);
    return error === undefined ? { value } : { error };
  }
  if (Object.hasOwn(output, 'raw_output')) {
    const raw = field(output, 'raw_output');
    return hasFailed(output) ? { error: plainText(firstField(output, 'content') ?? raw) } : { value: raw };
  }
  if (Object.hasOwn(output, 'response') && Object.hasOwn(output, 'name')) {
    return { value: field(output, 'response'), id: textOrUndefined(field(output, 'id')) };
  }
  return { value: output };
}

/** Returns an outcome as facts of a tool span. */
export function outcomeFacts({ value, id, error }: ToolOutcome): SpanFacts {
  return {
    toolCallId: id,
    toolResult: value,
    ...(error === undefined ? {} : { error: { type: null, message: error } }),
  };
}

/** Reads the call of a function: its arguments when they are an object, and its outcome. */
export function calledFacts(given: unknown, outcome: ToolOutcome): SpanFacts {
  const args = argumentsIn(given);
  return { toolArgs: isRecord(args) ? args : undefined, ...outcomeFacts(outcome) };
}

/**
 * Reads a step whose output is one serialised message of a tool: frameworks give such a step a general kind, yet it is the tool
 * call. Undefined for any other step; a list of messages is the output of a graph's node.
 */
export function toolStepFacts(input: unknown, output: unknown): SpanFacts | undefined {
  const message = isRecord(output) ? fromLangChain(output) : undefined;
  if (message === undefined || field(message, 'role') !== 'tool') {
    return undefined;
  }
  const outcome = readOutcome(output);
  return { ...calledFacts(input, outcome), role: 'tool', toolName: outcome.name };
}

/** Reads LangGraph's command: a tool that changes the graph's state returns a message in the update. */
function commandMessage(command: Fields): Fields | undefined {
  const update = field(command, 'update');
  const messages = isRecord(update) && Object.hasOwn(command, 'goto') ? field(update, 'messages') : undefined;
  const last = listIn(messages).at(-1);
  const message = isRecord(last) ? (fromLangChain(last) ?? last) : undefined;
  return message !== undefined && field(message, 'role') === 'tool' ? message : undefined;
}

const MCP_KEYS = new Set(['content', 'isError', 'structuredContent', '_meta']);

/** True for the result format of the Model Context Protocol. */
function isContentOnly(output: Fields): boolean {
  return Object.keys(output).every((key) => MCP_KEYS.has(key));
}
