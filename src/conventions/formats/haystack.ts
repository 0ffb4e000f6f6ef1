import { readStructure, readText } from '../attributes.ts';
import { field, type Fields, firstField, listIn, recordsIn } from '../json.ts';
import { plainText } from '../messages/part-reader.ts';
import { readDocuments } from '../messages/payloads.ts';
import { parsePythonRepr, REPR_TYPE } from '../messages/printed-items.ts';
import { answerParts, readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Haystack 2's own spans, and its agents under OpenInference, which have no spans below and contain messages as Python prints them. */
export const haystack: Convention = {
  name: 'haystack',
  detect: ({ span }) => span.name.startsWith('haystack.') || span.scopeName === OPENINFERENCE_SCOPE,
  read,
  signals: { keyPrefixes: ['haystack.'], scopePrefixes: ['haystack'] },
  switches: {
    emitter: 'Haystack 2',
    scopes: ['haystack'],
    setting: 'set HAYSTACK_CONTENT_TRACING_ENABLED=true',
    source: 'recorded: haystack-ai 2.31',
  },
};

const OPENINFERENCE_SCOPE = 'openinference.instrumentation.haystack';

/** Role of a component, by the end of its class name. */
const TYPE_ROLES: readonly (readonly [RegExp, SpanRole])[] = [
  [/Generator$/, 'llm'],
  [/(Retriever|Ranker)$/, 'retriever'],
  [/Embedder$/, 'embedding'],
  [/^(Agent|HumanAgent)$/, 'agent'],
];

function read(view: SpanView): SpanFacts {
  const { span } = view;
  if (span.scopeName === OPENINFERENCE_SCOPE) {
    return span.name === 'Agent.run' ? agentFacts(view, 'input.value', 'output.value') : {};
  }
  if (span.name === 'haystack.agent.run') {
    return agentFacts(view, 'haystack.agent.input', 'haystack.agent.output');
  }
  const role = span.name === 'haystack.pipeline.run' ? 'container' : 'other';
  return span.name === 'haystack.component.run' ? componentFacts(view) : { role };
}

/** Reads an agent's span. Its output is the whole conversation; the answer to this input follows the last user message. */
function agentFacts(view: SpanView, inputKey: string, outputKey: string): SpanFacts {
  const { attributes } = view.span;
  const given = commonMessages(field(readStructure(view, inputKey), 'messages'));
  const all = commonMessages(field(readStructure(view, outputKey), 'messages'));
  const messages = readMessages(all, 'user');
  const asked = messages.findLastIndex((message) => message.role === 'user');
  return {
    role: 'agent',
    agent: readText(attributes, 'haystack.agent.name'),
    system: readSystem(all.filter((message) => field(message, 'role') === 'system')),
    input: readMessages(given, 'user'),
    output: messages.slice(asked + 1).flatMap(({ parts }) => parts),
    ...replyMeta(all.slice(given.length)),
  };
}

function componentFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const output = readStructure(view, 'haystack.component.output');
  const type = readText(attributes, 'haystack.component.type') ?? '';
  const role = TYPE_ROLES.find(([pattern]) => pattern.test(type))?.[1] ?? 'container';
  if (role === 'llm') {
    return { role, ...generatorFacts(view, output) };
  }
  if (role === 'retriever') {
    return { role, documents: readDocuments(field(output, 'documents')) };
  }
  const results = commonMessages(field(output, 'tool_messages'));
  const [only] = answersIn(results);
  return only === undefined || results.length > 1 ? { role } : { role: 'tool', ...only };
}

/** Reads a generator. A chat generator has messages as input and output; a plain one has a prompt and texts. */
function generatorFacts(view: SpanView, output: unknown): SpanFacts {
  const input = readStructure(view, 'haystack.component.input');
  const given = firstField(input, 'messages', 'prompt');
  const replies = field(output, 'replies');
  const answers = commonMessages(replies);
  return {
    input: readMessages(typeof given === 'string' ? given : commonMessages(given), 'user'),
    output: answerParts((answers.length === 0 ? listIn(replies) : answers).slice(0, 1)),
    ...replyMeta(answers),
  };
}

/** Converts Haystack's messages: JSON (`role`), older JSON (`_role`), or Python's print (`ChatMessage(_role=…)`). Any other entry is left out. */
function commonMessages(list: unknown): Fields[] {
  return listIn(list).flatMap((item: unknown) => {
    const message = typeof item === 'string' && item.includes('(') ? parsePythonRepr(item) : item;
    if (!isRecord(message)) {
      return [];
    }
    const role = textOrUndefined(firstField(message, 'role', '_role'));
    const content = firstField(message, 'content', '_content');
    const blocks = Array.isArray(content) ? content.filter(isRecord).map(toBlock) : content;
    return role === undefined ? [] : [{ role, content: blocks, meta: firstField(message, 'meta', '_meta') }];
  });
}

/** Converts one block to `otel-genai`. JSON names a block by its key, Python by its class. */
function toBlock(block: Fields): Fields {
  const call = readBlockField(block, 'tool_call', 'ToolCall');
  if (call !== undefined) {
    const [id, name] = [field(call, 'id'), field(call, 'tool_name')];
    return { type: 'tool_call', id, name, arguments: field(call, 'arguments') };
  }
  const outcome = readBlockField(block, 'tool_call_result', 'ToolCallResult');
  if (outcome !== undefined) {
    const [id, name] = ['id', 'tool_name'].map((key) => field(field(outcome, 'origin'), key));
    const result = openPrinted(field(outcome, 'result'));
    return field(outcome, 'error') === true
      ? { type: 'tool-error', toolCallId: id, toolName: name, error: result }
      : { type: 'tool_call_response', id, name, response: result };
  }
  const reasoning = readBlockField(block, 'reasoning', 'ReasoningContent');
  return reasoning === undefined
    ? { type: 'text', text: firstField(block, 'text') }
    : { type: 'reasoning', content: firstField(reasoning, 'reasoning_text', 'text') };
}

function readBlockField(block: Fields, key: string, className: string): Fields | undefined {
  const value = field(block, REPR_TYPE) === className ? block : field(block, key);
  return isRecord(value) ? value : undefined;
}

/** Parses a result. Results other than text were printed by Python; a text that only looks like that stays a text. */
function openPrinted(result: unknown): unknown {
  const isPrinted = typeof result === 'string' && /^\s*[[{(]/.test(result);
  const value = isPrinted ? parsePythonRepr(result) : undefined;
  return typeof value === 'object' && value !== null ? value : result;
}

/** Reads results of tools, one entry per call, as facts of a tool span. */
function answersIn(messages: readonly Fields[]): SpanFacts[] {
  const blocks = messages.flatMap((message) => recordsIn(field(message, 'content')));
  return blocks.flatMap((block): SpanFacts[] => {
    if (field(block, 'type') === 'tool-error') {
      const [toolCallId, toolName] = [field(block, 'toolCallId'), field(block, 'toolName')].map(
        textOrUndefined,
      );
      return [{ toolCallId, toolName, error: { type: null, message: plainText(field(block, 'error')) } }];
    }
    const [toolCallId, toolName] = [field(block, 'id'), field(block, 'name')].map(textOrUndefined);
    const isAnswer = field(block, 'type') === 'tool_call_response';
    return isAnswer ? [{ toolCallId, toolName, toolResult: field(block, 'response') }] : [];
  });
}

/** Reads model and usage from the `meta` of replies; usage is summed. */
function replyMeta(messages: readonly Fields[]): SpanFacts {
  const metas = messages.map((message) => field(message, 'meta')).filter(isRecord);
  const described = metas.filter(
    (meta) => field(meta, 'model') !== undefined || isRecord(field(meta, 'usage')),
  );
  const sum = (...names: string[]): number | null => {
    const counts = described.flatMap((meta) => {
      const usage = field(meta, 'usage');
      const count = firstField(usage, ...names);
      return typeof count === 'number' && count >= 0 ? [count] : [];
    });
    return counts.length === 0 ? null : counts.reduce((total, count) => total + count, 0);
  };
  const last = described.at(-1) ?? {};
  return {
    model: textOrUndefined(field(last, 'model')),
    finishReason: textOrUndefined(field(last, 'finish_reason')),
    usage: {
      inputTokens: sum('prompt_tokens', 'input_tokens'),
      outputTokens: sum('completion_tokens', 'output_tokens'),
      totalTokens: sum('total_tokens'),
    },
  };
}
