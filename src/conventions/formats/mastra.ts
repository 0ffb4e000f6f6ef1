import { identityUnder, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, parseValue, recordsIn } from '../json.ts';
import { readCall, reasoningPart, textPart } from '../messages/part-reader.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Mastra's exporter and bridge: `otel-genai`, but model calls lack input and tool calls, which the steps and agents around them have. */
export const mastra: Convention = {
  name: 'mastra',
  detect: ({ span }) => span.attributes.has('mastra.span.type'),
  read,
  signals: { keyPrefixes: ['mastra.'], scopePrefixes: ['@mastra/'] },
  switches: {
    emitter: 'Mastra',
    scopes: ['@mastra/*'],
    setting: 'in Mastra leave hideInput and hideOutput of tracingOptions out or set them to false',
    sendsByDefault: true,
    source: 'types of @mastra/core 1.71, observability',
  },
};

const TYPE_ROLES = rolesOf({
  agent: 'agent_run',
  llm: 'model_step model_inference',
  tool: 'tool_call mcp_tool_call provider_tool_call client_tool_call',
  retriever: 'rag_vector_operation',
  embedding: 'rag_embedding',
});

function read(view: SpanView): SpanFacts {
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
  return isCall ? 'llm' : (TYPE_ROLES.get(type) ?? 'container');
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
