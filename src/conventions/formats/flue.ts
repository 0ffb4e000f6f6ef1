import { hasKey, readStructure, readText } from '../attributes.ts';
import { field, type Fields, parseIfText, recordsIn, structureIn } from '../json.ts';
import { answerIn, questionIn } from '../messages/payloads.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Flue: model and usage of turns are `otel-genai`, everything else has Flue's own keys. The name of a span shows its role. */
export const flue: Convention = {
  name: 'flue',
  detect: ({ span }) => hasKey(span.attributes, /^flue\./),
  read,
  signals: { keyPrefixes: ['flue.'], scopePrefixes: ['@flue/'] },
  switches: {
    emitter: 'Flue',
    scopes: ['@flue/*'],
    setting:
      'pass sanitize: (event) => event (older versions: captureContent: true) to createOpenTelemetryObserver',
    source: 'source of @flue/opentelemetry, an older and a newer version',
  },
};

const NAME_ROLES: readonly (readonly [start: string, role: SpanRole])[] = [
  ['flue.workflow', 'container'],
  ['flue.operation', 'container'],
  ['flue.compaction', 'container'],
  ['flue.task', 'agent'],
  ['flue.tool', 'tool'],
];

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const facts: SpanFacts = {
    role: NAME_ROLES.find(([start]) => name.startsWith(start))?.[1],
    session: readText(attributes, 'flue.session.name', 'flue.instance_id'),
  };
  if (facts.role === 'tool') {
    return { ...facts, ...toolFacts(attributes) };
  }
  if (facts.role === undefined) {
    return { ...facts, ...turnFacts(view) };
  }
  const [asked, answered] =
    facts.role === 'agent'
      ? ['flue.task.prompt', 'flue.task.result']
      : ['flue.workflow.payload', answerKey(attributes)];
  return {
    ...facts,
    agent: readText(attributes, facts.role === 'agent' ? 'flue.task.agent' : 'flue.workflow.name'),
    input: questionIn(readStructure(view, asked)),
    output: answerIn(readStructure(view, answered)),
  };
}

function answerKey(attributes: Attributes): string {
  return attributes.has('flue.workflow.result') ? 'flue.workflow.result' : 'flue.operation.result';
}

/** Reads a turn. A turn that summarises the conversation is not part of the agent's work. */
function turnFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const purpose = readText(attributes, 'flue.turn.purpose');
  if (purpose === undefined) {
    return {};
  }
  if (purpose !== 'agent') {
    return { role: 'container' };
  }
  const given = readStructure(view, 'flue.turn.input');
  const answered = messagesIn([readStructure(view, 'flue.turn.output')], 'assistant');
  return {
    role: 'llm',
    system: readSystem(textOrUndefined(field(given, 'systemPrompt'))),
    input: isRecord(given) ? messagesIn(field(given, 'messages'), 'user') : undefined,
    output: answered.flatMap(({ parts }) => parts),
  };
}

function messagesIn(list: unknown, role: 'user' | 'assistant'): NormalMessage[] {
  return readMessages(recordsIn(list).map(toMessage), role);
}

/** Converts a message to the common shape; a tool result is a message with a role of its own. */
function toMessage(message: Fields): Fields {
  const content = field(message, 'content');
  if (field(message, 'role') !== 'toolResult') {
    const parts = Array.isArray(content) ? content.map(toPart) : content;
    return { role: field(message, 'role'), content: parts };
  }
  const call = { toolCallId: field(message, 'toolCallId'), toolName: field(message, 'toolName') };
  const isError = field(message, 'isError');
  return { role: 'tool', content: [{ type: 'tool-result', ...call, result: content, isError }] };
}

function toPart(part: unknown): unknown {
  const type = field(part, 'type');
  if (!isRecord(part) || (type !== 'toolCall' && type !== 'image')) {
    return part;
  }
  return type === 'toolCall'
    ? { ...part, type: 'tool_call' }
    : { type: 'blob', mime_type: field(part, 'mimeType'), data: field(part, 'data') };
}

function toolFacts(attributes: Attributes): SpanFacts {
  const args = readText(attributes, 'flue.tool.arguments');
  return {
    toolName: readText(attributes, 'flue.tool.name'),
    toolCallId: readText(attributes, 'flue.tool.call_id'),
    ...(args === undefined ? {} : { toolArgs: structureIn(args) ?? args }),
    toolResult: parseIfText(readText(attributes, 'flue.tool.result')),
  };
}
