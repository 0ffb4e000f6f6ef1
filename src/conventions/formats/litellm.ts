import { textOf } from '../attributes.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/**
 * LiteLLM's SDK and proxy, whose model calls speak `otel-genai` (older: `traceloop-flattened`). The raw request below each
 * call repeats it in another spelling, and the proxy's own work (authentication, its database) is no part of a run.
 */
export const litellm: Convention = { name: 'litellm', detect, read };

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'litellm';
}

function read({ span }: SpanView): SpanFacts {
  if (span.name === 'raw_gen_ai_request') {
    return { role: 'container' };
  }
  const { attributes } = span;
  return {
    session: textOf(attributes, 'metadata.session_id', 'metadata.trace_session_id'),
    user: textOf(attributes, 'llm.user', 'metadata.user_api_key_end_user_id'),
  };
}
