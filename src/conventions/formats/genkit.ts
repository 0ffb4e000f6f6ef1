import { alwaysSends } from '../advice/content-switch.ts';
import { identityUnder, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, firstField, listIn, parseIfText, readFields, recordsIn } from '../json.ts';
import { answerIn, questionIn, readDocuments } from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanError, SpanFacts, SpanView } from '../normalised-span.ts';
import { usageIn } from '../token-parts.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/**
 * Genkit (JavaScript and Go): actions with their input and output as JSON. The `generate` spans between a flow and its models
 * only group (in Go their input is the finished conversation), so none of their facts are read.
 */
export const genkit: Convention = {
  name: 'genkit',
  detect: ({ span }) => span.attributes.has('genkit:type') || span.attributes.has('genkit:metadata:subtype'),
  read,
  signals: { keyPrefixes: ['genkit:'], scopePrefixes: ['genkit'] },
  switches: alwaysSends(
    'Genkit',
    ['genkit-tracer'],
    'source of @genkit-ai/core 1.42, tracing; recorded: genkit for Go 1.4',
  ),
};

const SUBTYPE_ROLES = rolesOf({
  llm: 'model background-model',
  tool: 'tool tool.v2',
  agent: 'agent',
  retriever: 'retriever reranker',
  embedding: 'embedder',
  evaluation: 'evaluator',
  other: 'indexer',
  container: 'flow',
});

const PARTS: Readonly<Record<string, (content: Fields) => Fields>> = {
  toolRequest: (call) => ({ type: 'tool_call', ...named(call), arguments: field(call, 'input') }),
  toolResponse: (answer) => ({
    type: 'tool_call_response',
    ...named(answer),
    response: field(answer, 'output'),
  }),
  media: (media) => ({ type: 'uri', mime_type: field(media, 'contentType'), uri: field(media, 'url') }),
};

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const subtype = attributes.get('genkit:metadata:subtype') ?? '';
  const role = SUBTYPE_ROLES.get(subtype) ?? 'container';
  const facts: SpanFacts = {
    role,
    error: findError(view),
    ...identityUnder(attributes, ['genkit:metadata:context:', 'genkit:metadata:']),
  };
  if (role === 'llm') {
    return { ...facts, ...modelFacts(view) };
  }
  if (role === 'tool') {
    return { ...facts, ...toolFacts(view, subtype) };
  }
  if (role === 'retriever') {
    return { ...facts, documents: readDocuments(readStructure(view, 'genkit:output')) };
  }
  return subtype === 'flow' || role === 'agent' ? { ...facts, ...flowFacts(view) } : facts;
}

function modelFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const input = readFields(readStructure(view, 'genkit:input'));
  const output = readFields(readStructure(view, 'genkit:output'));
  const [first] = listIn(field(output, 'candidates'));
  const message = firstField(output, 'message') ?? field(first, 'message');
  const answered = firstField(output, 'raw', 'custom');

  return {
    input: listMessages(field(input, 'messages')),
    output: listMessages([message]).flatMap(({ parts }) => parts),
    model: textOrUndefined(field(answered, 'model')) ?? readText(attributes, 'genkit:name'),
    finishReason: textOrUndefined(firstField(output, 'finishReason') ?? field(first, 'finishReason')),
    responseId: textOrUndefined(field(answered, 'id')),
    usage: usageIn(field(output, 'usage'), [['inputTokens'], ['outputTokens'], ['totalTokens']]),
  };
}

function listMessages(list: unknown): NormalMessage[] {
  return readMessages(
    recordsIn(list).map((message) => ({
      role: field(message, 'role'),
      content: readContent(field(message, 'content')),
    })),
    'user',
  );
}

/** Reads content without the documents that Genkit added to the question: the retriever's span has them. */
function readContent(content: unknown): unknown {
  if (!Array.isArray(content)) {
    return content;
  }
  const parts = recordsIn(content);
  const own = parts.filter((part) => field(field(part, 'metadata'), 'purpose') !== 'context');
  return own.map((part) => {
    const key = Object.keys(PARTS).find((name) => isRecord(field(part, name)));
    const reasoning = field(part, 'reasoning');
    if (key !== undefined) {
      return PARTS[key]?.(readFields(field(part, key)));
    }
    return reasoning === undefined ? part : { type: 'reasoning', content: reasoning };
  });
}

/** Adds the id of a call, which Genkit names `ref`. */
function named(part: Fields): Fields {
  return { id: field(part, 'ref'), name: field(part, 'name') };
}

/** Reads a tool. The second form of tools may return files beside the output, so the output is wrapped. */
function toolFacts({ span }: SpanView, subtype: string): SpanFacts {
  const value = parseIfText(readText(span.attributes, 'genkit:output'));
  const isWrapped = subtype === 'tool.v2' && isRecord(value) && Object.hasOwn(value, 'output');
  return {
    toolName: readText(span.attributes, 'genkit:name') ?? span.name,
    toolArgs: parseIfText(readText(span.attributes, 'genkit:input')),
    toolResult: isWrapped ? field(value, 'output') : value,
  };
}

function flowFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  return {
    agent: readText(attributes, 'genkit:name'),
    input: questionIn(readStructure(view, 'genkit:input')),
    output: answerIn(readStructure(view, 'genkit:output')),
  };
}

/** Finds the failure in Genkit's own state; the span's status may not show it. */
function findError({ span }: SpanView): SpanError | undefined {
  if (span.attributes.get('genkit:state') !== 'error') {
    return undefined;
  }
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes;
  const message = exception?.get('exception.message') || span.statusMessage;
  return { type: exception?.get('exception.type') || null, message: message || null };
}
