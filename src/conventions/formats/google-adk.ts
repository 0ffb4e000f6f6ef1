import { structureOf } from '../attributes.ts';
import { readMessages, textIn } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** How the notes begin that ADK puts into the user's mouth to tell an agent what another one did. */
const RELAYED_NOTE = 'For context:';

/** Google ADK 2, whose spans speak `otel-genai`; only what ADK adds to the conversation is taken out here. */
export const googleAdk: Convention = { name: 'google-adk', detect, read };

function detect({ span }: SpanView): boolean {
  return (
    span.scopeName === 'gcp.vertex.agent' &&
    span.attributes.get('gen_ai.input.messages')?.includes(RELAYED_NOTE) === true
  );
}

function read(view: SpanView): SpanFacts {
  const input = readMessages(structureOf(view, view.span.attributes, 'gen_ai.input.messages'), 'user');
  return {
    input: input.filter(
      (message) => message.role !== 'user' || !textIn(message.parts).startsWith(RELAYED_NOTE),
    ),
  };
}
