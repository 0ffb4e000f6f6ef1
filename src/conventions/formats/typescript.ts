import {
  alwaysSends,
  type Convention,
  type NormalMessage,
  type NormalPart,
  type SpanFacts,
  type SpanRole,
  type SpanView,
} from '../normalised-span.ts';
import { hasKey, identityUnder, readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, listIn, parseIfText, parseValue, recordsIn, structureIn } from '../json.ts';
import { readCall, reasoningPart, textPart } from '../messages/part-reader.ts';
import { answerIn, questionIn } from '../messages/payloads.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import { readCallList } from '../shape/values.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Mastra's exporter and bridge: `otel-genai`, but model calls lack input and tool calls, which the steps and agents around them have. */
export const mastra: Convention = {
  name: 'mastra',
  detect: ({ span }) => span.attributes.has('mastra.span.type'),
  read: readMastra,
  signals: { keyPrefixes: ['mastra.'], scopePrefixes: ['@mastra/'] },
  switches: {
    emitter: 'Mastra',
    scopes: ['@mastra/*'],
    setting: 'in Mastra leave hideInput and hideOutput of tracingOptions out or set them to false',
    sendsByDefault: true,
    source: 'types of @mastra/core 1.71, observability',
  },
};

const MASTRA_TYPE_ROLES = rolesOf({
  agent: 'agent_run',
  llm: 'model_step model_inference',
  tool: 'tool_call mcp_tool_call provider_tool_call client_tool_call',
  retriever: 'rag_vector_operation',
  embedding: 'rag_embedding',
});

function readMastra(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const type = attributes.get('mastra.span.type') ?? '';
  const identity = identityUnder(attributes, ['mastra.metadata.']);
  const facts: SpanFacts = {
    role: readRole(type, attributes),
    session: identity.session,
    user: identity.user ?? readText(attributes, 'mastra.metadata.resourceId'),
  };
  switch (type) {
    case 'agent_run':
      return {
        ...facts,
        input: freshInput(readStructure(view, 'mastra.agent_run.input')),
        output: outputParts(readStructure(view, 'mastra.agent_run.output')),
        outputGrouped: true,
      };
    case 'model_generation':
      return {
        ...facts,
        input: readMessages(readStructure(view, 'mastra.model_generation.input'), 'user'),
      };
    case 'model_step':
      return { ...facts, output: outputParts(readStructure(view, 'mastra.model_step.output')) };
    default:
      return facts.role === 'tool' ? { ...facts, ...subAgentAnswer(attributes) } : facts;
  }
}

/** Finds the role. Older versions have no `model_inference`: there the generation is the model call. */
function readRole(type: string, attributes: Attributes): NonNullable<SpanFacts['role']> {
  const isCall = type === 'model_generation' && attributes.has('gen_ai.output.messages');
  return isCall ? 'llm' : (MASTRA_TYPE_ROLES.get(type) ?? 'container');
}

/** Reads the messages that the caller passed now. Stored messages have the time of their storage and are memory. */
function freshInput(value: unknown): NormalMessage[] {
  if (!Array.isArray(value)) {
    return readMessages(value, 'user');
  }
  const fresh = value.filter((item) => field(item, 'createdAt') === undefined);
  return readMessages(fresh.length === 0 ? value : fresh, 'user');
}

function outputParts(value: unknown): NormalPart[] {
  if (!isRecord(value)) {
    return textPart(value);
  }
  const object = field(value, 'object');
  return [
    ...reasoningPart(reasoningText(field(value, 'reasoning'))),
    ...textPart(field(value, 'text')),
    ...(field(value, 'text') === undefined && isRecord(object) ? textPart(JSON.stringify(object)) : []),
    ...recordsIn(field(value, 'toolCalls')).flatMap(readCall),
  ];
}

function reasoningText(value: unknown): string {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.map((item) => textOrUndefined(isRecord(item) ? field(item, 'text') : item) ?? '').join('');
}

/** Reads a sub-agent's answer. Its result contains all its inner messages; the calling model received its text only. */
function subAgentAnswer(attributes: Attributes): SpanFacts {
  const text = readText(attributes, 'gen_ai.tool.call.result');
  const result = text?.includes('subAgent') === true ? parseValue(text) : undefined;
  const isSubAgent = isRecord(result) && ('subAgentThreadId' in result || 'subAgentToolResults' in result);
  return isSubAgent ? { toolResult: field(result, 'text') } : {};
}

/** Flue: model and usage of turns are `otel-genai`, everything else has Flue's own keys. The name of a span shows its role. */
export const flue: Convention = {
  name: 'flue',
  detect: ({ span }) => hasKey(span.attributes, /^flue\./),
  read: readFlue,
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

function readFlue(view: SpanView): SpanFacts {
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
      : [
          'flue.workflow.payload',
          attributes.has('flue.workflow.result') ? 'flue.workflow.result' : 'flue.operation.result',
        ];
  return {
    ...facts,
    agent: readText(attributes, facts.role === 'agent' ? 'flue.task.agent' : 'flue.workflow.name'),
    input: questionIn(readStructure(view, asked)),
    output: answerIn(readStructure(view, answered)),
  };
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

/** VoltAgent: messages, input and output under plain names. Children inherit their agent's `entity.type`. */
export const voltagent: Convention = {
  name: 'voltagent',
  detect,
  read: readVoltagent,
  signals: { keyPrefixes: ['voltagent.'] },
  switches: alwaysSends('VoltAgent', ['voltagent*', '@voltagent/*'], 'source of @voltagent/core, agent'),
};

const VOLTAGENT_TYPE_ROLES = rolesOf({
  agent: 'agent',
  llm: 'llm',
  tool: 'tool',
  retriever: 'retriever',
  container: 'memory',
});

function detect({ span }: SpanView): boolean {
  const { attributes } = span;
  return (
    attributes.has('voltagent.operation_id') ||
    attributes.has('voltagent.conversation_id') ||
    (attributes.get('entity.type') === 'agent' && attributes.has('entity.id'))
  );
}

function readVoltagent(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, 'span.type') ?? readText(attributes, 'entity.type') ?? '';
  const role = type === '' ? undefined : (VOLTAGENT_TYPE_ROLES.get(type) ?? 'container');
  const facts: SpanFacts = {
    role,
    session: readText(attributes, 'voltagent.conversation_id', 'conversation.id'),
  };
  if (role === undefined) {
    return facts;
  }
  const given = readStructure(view, 'input');
  if (role === 'tool') {
    return {
      ...facts,
      toolName: readText(attributes, 'tool.name') ?? name,
      toolCallId: readText(attributes, 'tool.call.id'),
      toolArgs: isRecord(given) ? given : undefined,
      toolResult: parseIfText(readText(attributes, 'output')),
    };
  }
  const messages = readStructure(view, role === 'llm' ? 'llm.messages' : 'agent.messages');
  return {
    ...facts,
    agent: role === 'agent' ? (readText(attributes, 'entity.name') ?? name) : undefined,
    input: messages === undefined ? questionIn(given) : readMessages(messages, 'user'),
    output: answerIn(readStructure(view, 'output')),
    model: readText(attributes, 'ai.model.name', 'llm.model'),
    usage: {
      inputTokens: readCount(attributes, 'usage.prompt_tokens', 'llm.usage.prompt_tokens') ?? null,
      outputTokens: readCount(attributes, 'usage.completion_tokens', 'llm.usage.completion_tokens') ?? null,
      totalTokens: readCount(attributes, 'usage.total_tokens', 'llm.usage.total_tokens') ?? null,
    },
  };
}

/** Sentry's SDKs, which put the content of `otel-genai` 1.36 from the events into attributes of their own. */
export const sentry: Convention = {
  name: 'sentry',
  detect: ({ span }) =>
    span.attributes.get('sentry.op')?.startsWith('gen_ai.') === true ||
    KEYS.some((key) => span.attributes.has(key)),
  read: readSentry,
  switches: {
    emitter: 'Sentry',
    scopes: ['@sentry/*', 'sentry*'],
    setting:
      'set recordInputs and recordOutputs of the integration to true (Python: include_prompts=True), or sendDefaultPii (Python: send_default_pii)',
    source: 'Sentry’s guide to the monitoring of AI agents',
  },
};

const OP_ROLES = rolesOf({
  agent: 'gen_ai.invoke_agent',
  tool: 'gen_ai.execute_tool',
  container: 'gen_ai.handoff',
});

const KEYS = [
  'gen_ai.request.messages',
  'gen_ai.response.text',
  'gen_ai.response.tool_calls',
  'gen_ai.tool.input',
  'gen_ai.tool.output',
];

function readSentry(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const text = readStructure(view, 'gen_ai.response.text');
  const isChoices = listIn(text).every((item) => typeof item === 'string');
  const args = readText(attributes, 'gen_ai.tool.input');
  const role = findRole(view);
  return {
    role,
    agent: role === 'agent' ? readText(attributes, 'gen_ai.agent.name') : undefined,
    toolName: role === 'tool' ? readText(attributes, 'gen_ai.tool.name') : undefined,
    input: readMessages(readStructure(view, 'gen_ai.request.messages'), 'user'),
    output: [
      ...textPart(Array.isArray(text) && isChoices ? text[0] : text),
      ...readCallList(readStructure(view, 'gen_ai.response.tool_calls')),
    ],
    toolArgs: structureIn(args) ?? args,
    toolResult: parseIfText(readText(attributes, 'gen_ai.tool.output')),
  };
}

function findRole({ span }: SpanView): SpanRole | undefined {
  const op = span.attributes.get('sentry.op');
  if (op === undefined || span.attributes.has('gen_ai.operation.name')) {
    return undefined;
  }
  const isCall = span.attributes.has('gen_ai.request.model');
  return OP_ROLES.get(op) ?? (isCall ? 'llm' : undefined);
}
