import { readText } from '../attributes.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

const SCOPE = 'opentelemetry.instrumentation.openai_agents';

/**
 * OpenTelemetry's own instrumentation of the OpenAI Agents SDK: the SDK's tasks and turns, and its transfers. Everything else is
 * `otel-genai`. OpenLLMetry's instrumentation has the same scope, with keys of its own.
 */
export const openaiAgents: Convention = {
  name: 'openai-agents',
  detect,
  read,
  switches: [
    {
      emitter: 'OpenAI Agents (OpenTelemetry)',
      scopes: [SCOPE],
      conventions: ['openai-agents'],
      setting:
        'leave OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT and OTEL_INSTRUMENTATION_OPENAI_AGENTS_CAPTURE_CONTENT unset or set them to span_and_event (the first one wins)',
      sendsByDefault: true,
      source: 'source of opentelemetry-instrumentation-openai-agents-v2 0.1.0; recorded: the same',
    },
  ],
};

const HANDOFF = 'agent_handoff';

function detect({ span }: SpanView): boolean {
  const operation = span.attributes.get('gen_ai.operation.name');
  return span.scopeName === SCOPE && (operation === 'unknown' || operation === HANDOFF);
}

function read({ span: { attributes } }: SpanView): SpanFacts {
  if (attributes.get('gen_ai.operation.name') !== HANDOFF) {
    return { role: 'container' };
  }
  return { role: 'tool', ...transferTool(readText(attributes, 'gen_ai.handoff.to_agent')) };
}

/** Names the tool that the SDK offers for a transfer to this agent. */
export function transferTool(target = 'agent'): Pick<SpanFacts, 'toolName'> {
  return { toolName: `transfer_to_${target}` };
}
