import { textOf } from '../attributes.ts';
import { parseValue } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/** Pydantic AI: its own names, which older formats have alone; the messages are `otel-genai`'s or its events. */
export const pydanticAi: Convention = { name: 'pydantic-ai', detect, read };

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'pydantic-ai';
}

function read({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const args = textOf(attributes, 'tool_arguments');
  const result = textOf(attributes, 'tool_response');
  const answer = textOf(attributes, 'final_result');
  return {
    role: roleOf({ name: span.name, isAgent: attributes.has('agent_name') }),
    agent: textOf(attributes, 'agent_name'),
    output: answer === undefined ? undefined : textPart(answer),
    ...(args === undefined ? {} : { toolArgs: parseValue(args) }),
    ...(result === undefined ? {} : { toolResult: parseValue(result) }),
  };
}

/** An attempt at a model request is part of the call around it, not a call. */
function roleOf({ name, isAgent }: { name: string; isAgent: boolean }): SpanRole | undefined {
  if (isAgent) {
    return 'agent';
  }
  return name === 'running tools' || name.startsWith('model request attempt') ? 'container' : undefined;
}
