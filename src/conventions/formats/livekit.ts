import type { Attributes } from '../../domain/trace/span.ts';
import { readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, recordsIn, parseIfText } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import { readMessages, readSystem, answerParts } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** LiveKit Agents: one long trace a session, a run each agent turn. Content moved from `lk.…` to `lk.pii.…` in 2026; `otel-genai` is read, too. */
export const livekit: Convention = {
  name: 'livekit',
  detect: ({ span }) => span.scopeName === 'livekit-agents',
  read,
  signals: { keyPrefixes: ['lk.'], scopePrefixes: ['livekit-agents'] },
  switches: {
    emitter: 'LiveKit Agents',
    scopes: ['livekit-agents', '@livekit/agents*'],
    setting:
      'in newer versions of LiveKit Agents pass allow_pii=True to set_tracer_provider (JavaScript: setTracerProvider(provider, { allowPii: true })), and leave redaction off for the session',
    source: 'reference of LiveKit’s agents-js telemetry; pull request 7104 of livekit/agents',
  },
};

const NAME_ROLES = rolesOf({
  agent: 'agent_turn',
  llm: 'llm_node llm_request',
  tool: 'function_tool',
  container: 'llm_request_run',
});

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  // Sessions, activities, speech and audio only hold the turns together, whatever operation they name.
  const facts: SpanFacts = {
    role: NAME_ROLES.get(name) ?? 'container',
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

function content(attributes: Attributes, name: string): string | undefined {
  return readText(attributes, `lk.pii.${name}`, `lk.${name}`);
}

function contentKey(attributes: Attributes, name: string): string {
  return attributes.has(`lk.pii.${name}`) ? `lk.pii.${name}` : `lk.${name}`;
}

function turnFacts(attributes: Attributes): SpanFacts {
  return {
    agent: readText(attributes, 'gen_ai.agent.name', 'lk.agent_label', 'lk.agent_name'),
    system: readSystem(content(attributes, 'instructions')),
    input: readMessages(content(attributes, 'user_input'), 'user'),
    output: textPart(content(attributes, 'response.text')),
  };
}

function modelFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const context = readStructure(view, contentKey(attributes, 'chat_ctx'));
  const calls = readStructure(view, contentKey(attributes, 'response.function_calls'));
  const message = {
    role: 'assistant',
    content: content(attributes, 'response.text'),
    tool_calls: recordsIn(calls).map(toCall),
  };
  return {
    input: readMessages(recordsIn(field(context, 'items')).flatMap(toMessage), 'user'),
    output: answerParts([message]),
  };
}

function toCall(call: Fields): Fields {
  return { id: field(call, 'call_id'), name: field(call, 'name'), arguments: field(call, 'arguments') };
}

/** Converts an item of a chat context: a message, a function call or its output. */
function toMessage(item: Fields): Fields[] {
  switch (field(item, 'type')) {
    case 'message':
      return [{ role: field(item, 'role'), content: readSpokenText(field(item, 'content')) }];
    case 'function_call':
      return [{ role: 'assistant', tool_calls: [toCall(item)] }];
    case 'function_call_output': {
      const [isError, result] = [field(item, 'is_error'), field(item, 'output')];
      const named = { toolCallId: field(item, 'call_id'), toolName: field(item, 'name') };
      return [{ role: 'tool', content: [{ type: 'tool-result', ...named, result, isError }] }];
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
  const output = content(attributes, 'function_tool.output');
  const failed = readText(attributes, 'lk.function_tool.is_error', 'error.type');
  const isError = failed === 'true' || failed === 'tool_error';
  return {
    toolCallId: readText(attributes, 'lk.function_tool.id'),
    toolName: readText(attributes, 'lk.function_tool.name', 'gen_ai.tool.name'),
    toolArgs: parseIfText(content(attributes, 'function_tool.arguments')),
    toolResult: isError ? undefined : parseIfText(output),
    error: isError ? { type: null, message: output ?? null } : undefined,
  };
}
