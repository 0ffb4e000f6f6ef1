import { readText } from '../attributes.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** OpenLIT, whose spans are `otel-genai` (older: `otel-genai-content`); only its own keys are read here. */
export const openlit: Convention = {
  name: 'openlit',
  detect,
  read,
  switches: [
    {
      emitter: 'OpenLIT',
      scopes: ['openlit*'],
      conventions: ['openlit'],
      setting: 'leave capture_message_content of openlit.init out or set it to True',
      sendsByDefault: true,
      source: 'issue 1624 of openlit, version 1.45',
    },
  ],
};

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
    user: readText(attributes, 'gen_ai.request.user'),
  };
}
