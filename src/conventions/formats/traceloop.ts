import type {
  ContentSwitch,
  Convention,
  NormalMessage,
  SpanFacts,
  SpanRole,
  SpanView,
} from '../normalised-span.ts';
import { hasKey, identityUnder, readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import {
  field,
  type Fields,
  firstField,
  listIn,
  parseIfText,
  parseValue,
  readFields,
  structureIn,
} from '../json.ts';
import { reasoningPart } from '../messages/part-reader.ts';
import {
  calledFacts,
  functionFacts,
  readDocuments,
  readOutcome,
  requestIn,
  responseIn,
} from '../messages/payloads.ts';
import { readPrintedToolMessage } from '../messages/printed-items.ts';
import { readMessages } from '../messages/read-messages.ts';
import { gatherList } from '../shape/carriers.ts';
import type { RetrievedDocument } from '../../domain/trace/agent-run.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

const CONTENT_SETTING = 'in OpenLLMetry leave TRACELOOP_TRACE_CONTENT unset or set it to true';

/** Scopes of OpenLLMetry's packages. Other packages with the same beginning are OpenTelemetry's. */
const OPENLLMETRY_SCOPES =
  'agno alephalpha anthropic bedrock chromadb cohere crewai google_generativeai groq haystack lancedb langchain llamaindex marqo mcp milvus mistralai ollama openai openai.v0 openai.v1 pinecone qdrant replicate sagemaker together transformers voyageai watsonx weaviate writer'
    .split(' ')
    .map((name) => `opentelemetry.instrumentation.${name}`);

const SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'OpenLLMetry (Python)',
    scopes: [...OPENLLMETRY_SCOPES, 'traceloop*'],
    setting: CONTENT_SETTING,
    sendsByDefault: true,
    source: 'README of the opentelemetry-instrumentation-* packages of OpenLLMetry',
  },
  {
    // OpenTelemetry's own instrumentations have the same scopes.
    emitter: 'OpenLLMetry (Python, OpenAI Agents and Vertex AI)',
    scopes: ['opentelemetry.instrumentation.openai_agents', 'opentelemetry.instrumentation.vertexai'],
    requires: 'traceloop',
    setting: CONTENT_SETTING,
    sendsByDefault: true,
    source: 'README of the opentelemetry-instrumentation-* packages of OpenLLMetry',
  },
  {
    emitter: 'OpenLLMetry (JavaScript)',
    scopes: ['@traceloop/*'],
    setting: 'leave traceContent of the instrumentation’s options out or set it to true',
    sendsByDefault: true,
    source: 'source of @traceloop/instrumentation-openai 0.27',
  },
];

/** OpenLLMetry: decorated workflows, agents, tasks and tools, and LangChain's tool calls. Model calls are `otel-genai` or `traceloop-flattened`. */
export const traceloop: Convention = {
  name: 'traceloop',
  detect,
  read: readTraceloop,
  signals: { keyPrefixes: ['traceloop.'], scopePrefixes: ['@traceloop/', 'traceloop'] },
  switches: SWITCHES,
};

const KIND_ROLES = rolesOf({
  workflow: 'workflow',
  agent: 'agent',
  container: 'task',
  tool: 'tool',
});

const RESULT_EVENT = 'db.query.result';
/** Scopes of JavaScript instrumentations that write other values as text. */
const WRITING_SCOPES = new Set(['@traceloop/instrumentation-langchain', '@traceloop/instrumentation-openai']);
const INPUT_MESSAGES = 'gen_ai.input.messages';

function detect({ span }: SpanView): boolean {
  if (WRITING_SCOPES.has(span.scopeName)) {
    return true;
  }
  return hasKey(span.attributes, /^traceloop\./) || span.events.some((event) => event.name === RESULT_EVENT);
}

function readTraceloop(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const kind = KIND_ROLES.get(attributes.get('traceloop.span.kind') ?? '');
  const operation = readText(attributes, 'gen_ai.operation.name');
  const isTool = operation === 'execute_tool' || (operation === undefined && kind === 'tool');
  const facts: SpanFacts = {
    // A span with an operation of its own is what that says.
    role: operation === undefined ? kind : undefined,
    ...identityUnder(attributes, ['traceloop.association.properties.']),
    input: openedInput(view),
  };
  if (isTool) {
    return { ...facts, ...toolFacts(attributes, kind) };
  }
  const retrieved = kind === 'container' ? taskDocuments(view) : [];
  if (retrieved.length > 0) {
    return { ...facts, role: 'retriever', documents: retrieved };
  }
  const documents = listDocuments(view);
  if (documents.length > 0) {
    return { ...facts, role: facts.role ?? 'retriever', documents };
  }
  if (kind === undefined || kind === 'tool') {
    return facts;
  }
  return {
    ...facts,
    agent: readText(attributes, 'traceloop.entity.name'),
    ...functionFacts(
      readStructure(view, 'traceloop.entity.input'),
      outputsIn(readStructure(view, 'traceloop.entity.output')),
    ),
  };
}

/** Parses an input that came as JSON text: LangChain's instrumentation writes a message's blocks so, OpenAI's the whole Responses input. */
function openedInput(view: SpanView): NormalMessage[] | undefined {
  const { attributes, scopeName } = view.span;
  const written = attributes.get(INPUT_MESSAGES) ?? '';
  const isWritten = written.includes('"[{\\"type\\":') || written.includes('"[{\\"role\\":');
  if (!WRITING_SCOPES.has(scopeName) || !isWritten) {
    return undefined;
  }
  const messages = readMessages(readStructure(view, INPUT_MESSAGES), 'user');
  return messages.flatMap((message) => {
    const [part] = message.parts;
    const text = message.parts.length === 1 && part?.type === 'text' ? part.text : '';
    const inner = /^\[\{"(type|role)":/.test(text) ? parseValue(text) : undefined;
    if (!Array.isArray(inner)) {
      return message;
    }
    const isInput = inner.some(
      (item) => isRecord(item) && ITEM_TYPES.has(textOrUndefined(field(item, 'type')) ?? 'message'),
    );
    return readMessages(isInput ? inner : [{ role: message.role, content: inner }], 'user');
  });
}

/** Types of the items of a Responses API input; an item without a type is a message. */
const ITEM_TYPES = new Set(['message', 'function_call', 'function_call_output']);

function outputsIn(value: unknown): unknown {
  return isRecord(value) ? (firstField(value, 'outputs', 'output') ?? value) : value;
}

function toolFacts(attributes: Attributes, kind: SpanRole | undefined): SpanFacts {
  const given = readText(attributes, 'traceloop.entity.input', 'gen_ai.tool.call.arguments');
  const wrapped = given === undefined ? undefined : readFields(structureIn(given));
  const output = readText(attributes, 'traceloop.entity.output', 'gen_ai.tool.call.result');
  const outcome = readOutcome(readPrintedToolMessage(output) ?? openCallback(parseIfText(output)));
  const id = textOrUndefined(field(field(wrapped, 'kwargs'), 'tool_call_id'));
  return {
    ...calledFacts(wrapped, outcome),
    // In JavaScript the entity is a class of LangChain's; the tool's own name is on its message only.
    toolName:
      outcome.name ??
      readText(attributes, 'gen_ai.tool.name') ??
      (kind === 'tool' ? readText(attributes, 'traceloop.entity.name') : undefined),
    toolCallId: readText(attributes, 'gen_ai.tool.call.id') ?? id ?? outcome.id,
  };
}

/** Opens the form in which LangChain's callback gets a result: the result, and how the callback was called. */
function openCallback(value: unknown): unknown {
  const isCallback = isRecord(value) && Object.keys(value).toSorted().join() === 'kwargs,output';
  return isCallback ? parseIfText(field(value, 'output')) : value;
}

/** Lists the documents of a task of LlamaIndex that retrieves: its output is a list of nodes, each as JSON text. */
function taskDocuments(view: SpanView): RetrievedDocument[] {
  const output = readStructure(view, 'traceloop.entity.output');
  const nodes = listIn(output).map(parseIfText);
  const areNodes = nodes.every((node) => isRecord(field(node, 'node')));
  return areNodes ? readDocuments(nodes) : [];
}

function listDocuments({ span }: SpanView): RetrievedDocument[] {
  const hits = span.events.filter((event) => event.name === RESULT_EVENT);
  return hits.flatMap(({ attributes }) => {
    const content = readText(attributes, 'db.query.result.document');
    const score = Number(readText(attributes, 'db.query.result.score') ?? Number.NaN);
    const id = readText(attributes, 'db.query.result.id') ?? null;
    return content === undefined ? [] : [{ id, content, score: Number.isFinite(score) ? score : null }];
  });
}

/** Model calls with one attribute per message field (`gen_ai.prompt.3.role`): older OpenLLMetry, Koog and others. */
export const traceloopFlattened: Convention = {
  name: 'traceloop-flattened',
  detect: ({ span }) =>
    hasKey(span.attributes, /^(llm\.request\.type$|gen_ai\.(prompt|completion)\.\d{1,6}\..)/),
  read: readTraceloopFlattened,
};

const TYPE_ROLES = rolesOf({
  llm: 'chat completion',
  embedding: 'embedding',
  retriever: 'rerank',
});

function readTraceloopFlattened({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const output = gatherList(attributes, 'gen_ai.completion').flatMap((item) => toMessage(item, 'assistant'));
  const type = TYPE_ROLES.get(attributes.get('llm.request.type') ?? '');
  return {
    role: type ?? (output.length > 0 ? 'llm' : undefined),
    input: gatherList(attributes, 'gen_ai.prompt').flatMap((item) => toMessage(item, 'user')),
    output: output.flatMap((message) => message.parts),
    finishReason: readText(attributes, 'gen_ai.completion.0.finish_reason'),
    usage: { totalTokens: readCount(attributes, 'llm.usage.total_tokens') ?? null },
  };
}

function toMessage(item: Fields, defaultRole: 'user' | 'assistant'): NormalMessage[] {
  const content = textOrUndefined(field(item, 'content'));
  const blocks = structureIn(content);
  const asked = askedCalls(blocks);
  const role = asked === undefined ? (field(item, 'role') ?? defaultRole) : 'assistant';
  // An assistant that only called tools comes with the text "null".
  const said = content === 'null' || asked !== undefined ? undefined : content;
  const message = {
    role,
    content: said !== undefined && role !== 'tool' && Array.isArray(blocks) ? blocks : said,
    tool_calls: asked ?? callsIn(item),
    tool_call_id: field(item, 'tool_call_id'),
  };
  const thoughts = reasoningPart(textOrUndefined(field(item, 'reasoning')));
  const messages = readMessages([message], defaultRole);
  return thoughts.length === 0 ? messages : [{ role: 'assistant', parts: thoughts }, ...messages];
}

/** Finds the calls that the model requested; Koog before 1.0 has them as the content of a tool's message. */
function askedCalls(blocks: unknown): unknown[] | undefined {
  const calls = listIn(blocks);
  const areCalls = calls.every(
    (block) => field(block, 'type') === 'function' && field(block, 'function') !== undefined,
  );
  return areCalls && calls.length > 0 ? calls : undefined;
}

function callsIn(item: Fields): unknown[] {
  const legacy = field(item, 'function_call');
  const calls = listIn(field(item, 'tool_calls'));
  return field(legacy, 'name') === undefined
    ? calls
    : [...calls, { name: field(legacy, 'name'), arguments: field(legacy, 'arguments') ?? '{}' }];
}

/** Model calls with prompt and completion in one attribute each: OpenTelemetry before 1.28, older OpenLIT, LangSmith, OpenRouter. */
export const otelGenaiContent: Convention = {
  name: 'otel-genai-content',
  detect: (view) => listSources(view).some((source) => source.has(PROMPT) || source.has(COMPLETION)),
  read: readContent,
};

const PROMPT = 'gen_ai.prompt';
const COMPLETION = 'gen_ai.completion';
const EVENTS = new Set(['gen_ai.content.prompt', 'gen_ai.content.completion']);

const LINE_ROLE = /^(system|user|assistant|tool): /;

function listSources({ span }: SpanView): Attributes[] {
  return [
    span.attributes,
    ...span.events.filter((event) => EVENTS.has(event.name)).map((event) => event.attributes),
  ];
}

function readContent(view: SpanView): SpanFacts {
  const operation = view.span.attributes.get('gen_ai.operation.name');
  if (operation === 'execute_tool') {
    return {};
  }
  const sources = listSources(view);
  const readValue = (key: string): unknown => {
    const source = sources.find((one) => readText(one, key) !== undefined);
    return source === undefined ? undefined : readStructure(view, key, source);
  };
  const prompt = readValue(PROMPT);
  const completion = readValue(COMPLETION);
  const lines = typeof prompt === 'string' ? fromLines(prompt) : undefined;
  const output = responseIn(completion);
  return {
    role: operation === undefined && completion !== undefined ? 'llm' : undefined,
    ...(lines === undefined ? requestIn(prompt) : { input: lines }),
    output: view.span.statusCode === 'Error' && output?.length === 0 ? undefined : output,
  };
}

/** Reads a conversation in the form of text, one `role: content` after the other. */
function fromLines(text: string): NormalMessage[] | undefined {
  if (!LINE_ROLE.test(text)) {
    return undefined;
  }
  const messages: { role: NormalMessage['role']; lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    const role = LINE_ROLE.exec(line)?.[1];
    if (role !== undefined) {
      messages.push({ role: role as NormalMessage['role'], lines: [line.slice(role.length + 2)] });
    } else {
      messages.at(-1)?.lines.push(line);
    }
  }
  return messages.map(({ role, lines }) => ({ role, parts: [{ type: 'text', text: lines.join('\n') }] }));
}
