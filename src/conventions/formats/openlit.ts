import { textOf } from '../attributes.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** OpenLIT, whose spans speak `otel-genai` (older: `otel-genai-content`); only what it says in its own words is read here. */
export const openlit: Convention = { name: 'openlit', detect, read };

function detect({ span }: SpanView): boolean {
  return (
    span.resourceAttributes.get('telemetry.sdk.name') === 'openlit' || span.scopeName.startsWith('openlit')
  );
}

function read({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const isCall = attributes.has('gen_ai.operation.name') || attributes.has('gen_ai.request.model');
  return {
    // A function that the application traces has no operation.
    role: !isCall && attributes.has('gen_ai.output.messages') ? 'container' : undefined,
    user: textOf(attributes, 'gen_ai.request.user'),
  };
}
