import { hasKey, readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, listIn, structureIn } from '../json.ts';
import { reasoningPart } from '../messages/part-reader.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanView } from '../normalised-span.ts';
import { gatherList } from '../shape/carriers.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { textOrUndefined } from '../../domain/unknown-values.ts';

/** Model calls with one attribute per message field (`gen_ai.prompt.3.role`): older OpenLLMetry, Koog and others. */
export const traceloopFlattened: Convention = {
  name: 'traceloop-flattened',
  detect: ({ span }) =>
    hasKey(span.attributes, /^(llm\.request\.type$|gen_ai\.(prompt|completion)\.\d{1,6}\..)/),
  read,
};

const TYPE_ROLES = rolesOf({
  llm: 'chat completion',
  embedding: 'embedding',
  retriever: 'rerank',
});

function read({ span }: SpanView): SpanFacts {
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
  detect: detectContent,
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

function detectContent(view: SpanView): boolean {
  return listSources(view).some((source) => source.has(PROMPT) || source.has(COMPLETION));
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
