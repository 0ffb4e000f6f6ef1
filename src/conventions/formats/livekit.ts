import type { Attributes } from '../../domain/trace/span.ts';
import { readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, parseValue, recordsIn } from '../json.ts';
import { plainText, textPart } from '../messages/part-reader.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/**
 * LiveKit Agents. A session is one long trace; every agent turn in it is a run. In 2026 content moved from `lk.…` to
 * `lk.pii.…`; both are read, and the `otel-genai` attributes of the newest versions too.
 */
export const livekit: Convention = {
  name: 'livekit',
  detect,
  read,
  signals: { keyPrefixes: ['lk.'], scopePrefixes: ['livekit-agents'] },
  switches: [
    {
      emitter: 'LiveKit Agents',
      scopes: ['livekit-agents', '@livekit/agents*'],
      conventions: ['livekit'],
      setting:
        'in newer versions of LiveKit Agents pass allow_pii=True to set_tracer_provider (JavaScript: setTracerProvider(provider, { allowPii: true })), and leave redaction off for the session',
      sendsByDefault: false,
      source: 'reference of LiveKit’s agents-js telemetry; pull request 7104 of livekit/agents',
    },
  ],
};

const NAME_ROLES = rolesOf({
  agent: 'agent_turn',
  llm: 'llm_node llm_request',
  tool: 'function_tool',
  container: 'llm_request_run',
});

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'livekit-agents';
}

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  // Sessions, activities, speech and audio only hold the turns together, whatever operation they name.
  const role = NAME_ROLES.get(name) ?? 'container';
  const facts: SpanFacts = {
    role,
    session: readText(attributes, 'gen_ai.conversation.id', 'lk.room_sid', 'lk.room_name'),
    user: readText(attributes, 'lk.participant_identity'),
  };
  switch (name) {
    case 'agent_turn':
      return { ...facts, ...turnFacts(attributes) };
    case 'llm_node':
      return { ...facts, ...modelFacts(view) };
    case 'function_tool':
      return { ...facts, ...toolFacts(attributes) };
    default:
      return facts;
  }
}

/** Reads an attribute under its newer or its older name. */
function content(attributes: Attributes, name: string): string | undefined {
  return readText(attributes, `lk.pii.${name}`, `lk.${name}`);
}

function contentKey(attributes: Attributes, name: string): string {
  return attributes.has(`lk.pii.${name}`) ? `lk.pii.${name}` : `lk.${name}`;
}

function turnFacts(attributes: Attributes): SpanFacts {
  const instructions = content(attributes, 'instructions');
  const question = content(attributes, 'user_input');
  const answer = content(attributes, 'response.text');
  return {
    agent: readText(attributes, 'gen_ai.agent.name', 'lk.agent_label', 'lk.agent_name'),
    system: instructions === undefined ? undefined : [instructions],
    input: question === undefined ? undefined : readMessages(question, 'user'),
    output: answer === undefined ? undefined : textPart(answer),
  };
}

function modelFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const context = readStructure(view, attributes, contentKey(attributes, 'chat_ctx'));
  const calls = readStructure(view, attributes, contentKey(attributes, 'response.function_calls'));
  const message = {
    role: 'assistant',
    content: content(attributes, 'response.text'),
    tool_calls: recordsIn(calls).map(toCall),
  };
  const output = readMessages([message], 'assistant').flatMap(({ parts }) => parts);
  return { input: chatContext(context), output: output.length === 0 ? undefined : output };
}

function toCall(call: Fields): Fields {
  return { id: field(call, 'call_id'), name: field(call, 'name'), arguments: field(call, 'arguments') };
}

/** Reads the items of a chat context: messages, function calls and their outputs. */
function chatContext(context: unknown): NormalMessage[] | undefined {
  const items = field(context, 'items');
  return Array.isArray(items) ? readMessages(items.filter(isRecord).flatMap(toMessage), 'user') : undefined;
}

function toMessage(item: Fields): Fields[] {
  const id = field(item, 'call_id');
  switch (field(item, 'type')) {
    case 'message':
      return [{ role: field(item, 'role'), content: readSpokenText(field(item, 'content')) }];
    case 'function_call':
      return [{ role: 'assistant', tool_calls: [toCall(item)] }];
    case 'function_call_output': {
      const isError = field(item, 'is_error');
      const named = { toolCallId: id, toolName: field(item, 'name') };
      return [
        {
          role: 'tool',
          content: [{ type: 'tool-result', ...named, result: field(item, 'output'), isError }],
        },
      ];
    }
    default:
      return [];
  }
}

/** Reads the recognised text of speech; the audio itself is not sent. */
function readSpokenText(parts: unknown): unknown {
  return Array.isArray(parts)
    ? parts.map((part: unknown) => {
        const transcript = field(part, 'transcript');
        return typeof transcript === 'string' ? { type: 'text', text: transcript } : part;
      })
    : parts;
}

function toolFacts(attributes: Attributes): SpanFacts {
  const args = content(attributes, 'function_tool.arguments');
  const output = content(attributes, 'function_tool.output');
  const failed = readText(attributes, 'lk.function_tool.is_error', 'error.type');
  const isError = failed === 'true' || failed === 'tool_error';
  return {
    toolCallId: readText(attributes, 'lk.function_tool.id'),
    toolName: readText(attributes, 'lk.function_tool.name', 'gen_ai.tool.name'),
    ...(args === undefined ? {} : { toolArgs: parseValue(args) }),
    ...(output === undefined || isError ? {} : { toolResult: parseValue(output) }),
    ...(isError ? { error: { type: null, message: output === undefined ? null : plainText(output) } } : {}),
  };
}
