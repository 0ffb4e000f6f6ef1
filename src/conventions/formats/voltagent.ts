import { alwaysSends } from '../advice/content-switch.ts';
import { readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import { parseIfText } from '../json.ts';
import { answerIn, questionIn } from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** VoltAgent: messages, input and output under plain names. Children inherit their agent's `entity.type`. */
export const voltagent: Convention = {
  name: 'voltagent',
  detect,
  read,
  signals: { keyPrefixes: ['voltagent.'] },
  switches: alwaysSends('VoltAgent', ['voltagent*', '@voltagent/*'], 'source of @voltagent/core, agent'),
};

const TYPE_ROLES = rolesOf({
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

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, 'span.type') ?? readText(attributes, 'entity.type') ?? '';
  const role = type === '' ? undefined : (TYPE_ROLES.get(type) ?? 'container');
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
