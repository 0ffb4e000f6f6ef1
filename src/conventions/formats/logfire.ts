import type { ContentSwitch } from '../content-switch.ts';
import { readStructure, readText } from '../attributes.ts';
import { field } from '../json.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Settings that make its emitters send content. */
const SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'Logfire (OpenAI, Anthropic)',
    scopes: ['logfire*'],
    conventions: ['logfire'],
    setting:
      'Logfire’s instrumentations of model clients always send requests and responses; what its scrubbing replaced needs logfire.configure(scrubbing=…)',
    sendsByDefault: true,
    source: 'Logfire’s page on scrubbing sensitive data',
  },
];

/** Logfire's own instrumentation of OpenAI's and Anthropic's clients: the request and the response as one JSON value each. */
export const logfire: Convention = {
  name: 'logfire',
  detect,
  read,
  signals: { keyPrefixes: ['logfire.'], scopePrefixes: ['logfire.'] },
  switches: SWITCHES,
};

function detect({ span }: SpanView): boolean {
  return span.scopeName.startsWith('logfire') && span.attributes.has('request_data');
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const request = readStructure(view, attributes, 'request_data');
  const response = readStructure(view, attributes, 'response_data');
  const message = isRecord(response)
    ? (field(response, 'message') ?? field(response, 'combined_chunk_content'))
    : undefined;
  return {
    role: 'llm',
    ...requestIn(request),
    output: responseIn(isRecord(message) ? { choices: [{ message }] } : (message ?? response)),
    model: readText(attributes, 'gen_ai.response.model', 'gen_ai.request.model'),
  };
}
