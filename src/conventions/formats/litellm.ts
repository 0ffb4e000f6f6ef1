import { readText } from '../attributes.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/**
 * LiteLLM's SDK and proxy, whose model calls are `otel-genai` (older: `traceloop-flattened`). The raw request below each call
 * repeats it in another form, and the proxy's own work (authentication, its database) is no part of a run.
 */
export const litellm: Convention = {
  name: 'litellm',
  detect,
  read,
  signals: { scopePrefixes: ['litellm'] },
  switches: [
    {
      emitter: 'LiteLLM',
      scopes: ['litellm'],
      conventions: ['litellm'],
      setting:
        'in LiteLLM leave turn_off_message_logging at false, and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT unset or at SPAN_AND_EVENT',
      sendsByDefault: true,
      source: 'source of litellm 1.106.2, integrations/opentelemetry',
    },
  ],
};

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'litellm';
}

function read({ span }: SpanView): SpanFacts {
  if (span.name === 'raw_gen_ai_request') {
    return { role: 'container' };
  }
  const { attributes } = span;
  return {
    session: readText(attributes, 'metadata.session_id', 'metadata.trace_session_id'),
    user: readText(attributes, 'llm.user', 'metadata.user_api_key_end_user_id'),
  };
}
