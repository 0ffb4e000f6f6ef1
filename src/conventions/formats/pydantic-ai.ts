import { readStructure, readText } from '../attributes.ts';
import { field, parseIfText } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';

/** Pydantic AI: its own names, the only ones in older formats; the messages are `otel-genai`'s or its events. */
export const pydanticAi: Convention = {
  name: 'pydantic-ai',
  detect: ({ span }) => span.scopeName === 'pydantic-ai',
  read,
  signals: { keyPrefixes: ['pydantic_ai.', 'all_messages_events'], scopePrefixes: ['pydantic-ai'] },
  switches: {
    emitter: 'Pydantic AI',
    scopes: ['pydantic-ai'],
    setting: 'use InstrumentationSettings(include_content=True)',
    sendsByDefault: true,
    source: 'live test: pydantic-ai 2.68',
  },
};

function read(view: SpanView): SpanFacts {
  const { span } = view;
  const { attributes } = span;
  const given = readText(attributes, 'final_result');
  const isDeferred = asksForResults(parseIfText(given));
  return {
    role: attributes.has('agent_name') ? 'agent' : INNER_STEP.test(span.name) ? 'container' : undefined,
    agent: readText(attributes, 'agent_name'),
    ...(isDeferred ? { halt: 'waiting' as const } : {}),
    ...readConversation(view, textPart(isDeferred ? undefined : given)),
    toolArgs: parseIfText(readText(attributes, 'tool_arguments')),
    toolResult: parseIfText(readText(attributes, 'tool_response')),
  };
}

/** True for a result that asks the application for approvals and for results of its own tools, in place of an answer. */
function asksForResults(result: unknown): boolean {
  const asked = ['calls', 'approvals'].map((key) => field(result, key));
  return asked.every(Array.isArray) && asked.flat().length > 0;
}

/** Reads the agent's whole conversation, whose part after the last question is the output; or its final result alone. */
function readConversation(view: SpanView, answer: NormalPart[]): SpanFacts {
  const all = readMessages(readStructure(view, 'pydantic_ai.all_messages'), 'user');
  const asked = all.findLastIndex((message) => message.role === 'user');
  const said = all.slice(asked + 1).flatMap((message) => message.parts);
  return { input: all.slice(0, asked + 1), output: said.length > 0 ? said : answer };
}

/** Name of a step inside of an agent. An attempt at a model request is part of the call around it, not a call. */
const INNER_STEP = /^(running tools$|model request attempt)/;
