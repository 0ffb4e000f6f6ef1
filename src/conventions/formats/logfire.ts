import { readStructure, readText } from '../attributes.ts';
import { field, type Fields, parseIfText } from '../json.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Logfire's own instrumentation of OpenAI's and Anthropic's clients: the request and the response as one JSON value each. */
export const logfire: Convention = {
  name: 'logfire',
  detect: ({ span }) => span.scopeName.startsWith('logfire') && span.attributes.has('request_data'),
  read,
  signals: { keyPrefixes: ['logfire.'], scopePrefixes: ['logfire.'] },
  switches: {
    emitter: 'Logfire (OpenAI, Anthropic)',
    scopes: ['logfire*'],
    setting:
      'Logfire’s instrumentations of model clients always send requests and responses; what its scrubbing replaced needs logfire.configure(scrubbing=…)',
    sendsByDefault: true,
    source: 'Logfire’s page on scrubbing sensitive data',
  },
};

/** Newer versions put the answer here, in a form of its own; with both versions on, the response stands beside it. */
const OUTPUT = 'gen_ai.output.messages';

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const request = readStructure(view, 'request_data');
  const response = readStructure(view, 'response_data');
  const message = isRecord(response)
    ? (field(response, 'message') ?? field(response, 'combined_chunk_content'))
    : undefined;
  return {
    role: 'llm',
    ...requestIn(request),
    output: attributes.has(OUTPUT)
      ? undefined
      : responseIn(
          isRecord(message) ? { choices: [{ message: openInputs(view, message) }] } : (message ?? response),
        ),
    model: readText(attributes, 'gen_ai.response.model', 'gen_ai.request.model'),
  };
}

/** Opens the arguments of a call in Anthropic's response, which are written with the name of their field, `input`. */
function openInputs({ span }: SpanView, message: Fields): Fields {
  const calls = field(message, 'tool_calls');
  if (span.scopeName !== 'logfire.anthropic' || !Array.isArray(calls)) {
    return message;
  }
  return { ...message, tool_calls: calls.map((call: unknown) => openInput(call)) };
}

function openInput(call: unknown): unknown {
  const called = field(call, 'function');
  const args = isRecord(called) ? parseIfText(field(called, 'arguments')) : undefined;
  const input = isRecord(args) && Object.keys(args).length === 1 ? field(args, 'input') : undefined;
  return isRecord(call) && isRecord(called) && input !== undefined
    ? { ...call, function: { ...called, arguments: input } }
    : call;
}
