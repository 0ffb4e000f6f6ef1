import { gzipSync } from 'node:zlib';
import { type Json, requestBytes } from '../support/builders/otlp-proto-writer.ts';
import { attribute, traceRequest } from '../support/builders/otlp-requests.ts';

export const SPANS_PER_REQUEST = 100;
const SPANS_PER_TRACE = 10;
const WORDS =
  'the weather in Paris is mild today with light rain expected before noon please check order 4711 for the customer and tell when it will arrive thank you refund policy allows returns within thirty days of purchase tool result temperature eighteen degrees'.split(
    ' ',
  );

/** A small generator of pseudo-random numbers (mulberry32), so that every run sends the same bytes. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Builds a text of this length from the words of a support desk. */
export function buildText(random: () => number, length: number): string {
  let text = '';
  while (text.length < length) {
    text += `${WORDS[random() % WORDS.length]}${random() % 7 === 0 ? random() % 1000 : ''} `;
  }
  return text.slice(0, length);
}

function hex(random: () => number, bytes: number): string {
  let digits = '';
  while (digits.length < bytes * 2) {
    digits += random().toString(16).padStart(8, '0');
  }
  return digits.slice(0, bytes * 2);
}

/** Builds a call of a model with its messages. */
function benchSpan(random: () => number, traceId: string, index: number): Json {
  const message = (role: string, length: number): Json => ({
    role,
    parts: [{ type: 'text', content: buildText(random, length) }],
  });
  const int = (key: string, intValue: number): Json => ({ key, value: { intValue: String(intValue) } });
  return {
    traceId,
    spanId: hex(random, 8),
    parentSpanId: index === 0 ? '' : hex(random, 8),
    name: 'chat gpt-5-mini',
    kind: 3,
    startTimeUnixNano: String(1_760_000_000_000_000_000n + BigInt(random()) * 1_000n),
    endTimeUnixNano: String(1_760_000_005_000_000_000n + BigInt(random()) * 1_000n),
    attributes: [
      attribute('gen_ai.operation.name', 'chat'),
      attribute('gen_ai.provider.name', 'openai'),
      attribute('gen_ai.request.model', 'gpt-5-mini'),
      attribute('gen_ai.response.model', 'gpt-5-mini-2026-08-07'),
      attribute('gen_ai.response.id', `resp_${hex(random, 16)}`),
      attribute('gen_ai.conversation.id', `session-${random() % 1000}`),
      attribute('gen_ai.agent.name', 'support'),
      attribute('server.address', 'api.openai.com'),
      int('server.port', 443),
      int('gen_ai.usage.input_tokens', random() % 4000),
      int('gen_ai.usage.output_tokens', random() % 900),
      { key: 'gen_ai.request.temperature', value: { doubleValue: 0.2 } },
      {
        key: 'gen_ai.response.finish_reasons',
        value: { arrayValue: { values: [{ stringValue: 'stop' }] } },
      },
      attribute('gen_ai.input.messages', JSON.stringify([message('system', 300), message('user', 900)])),
      attribute('gen_ai.output.messages', JSON.stringify([message('assistant', 600)])),
    ],
    status: { code: 1 },
  };
}

/** `count` different requests of 100 spans, as protobuf or as JSON. */
export function benchRequests(count: number, encoding: 'protobuf' | 'json' = 'protobuf'): Buffer[] {
  const random = createRandom(20_260_707);
  return Array.from({ length: count }, () => {
    let traceId = '';
    const spans = Array.from({ length: SPANS_PER_REQUEST }, (_, i) => {
      traceId = i % SPANS_PER_TRACE === 0 ? hex(random, 16) : traceId;
      return benchSpan(random, traceId, i % SPANS_PER_TRACE);
    });
    const request = traceRequest(spans, 'shop');
    return encoding === 'protobuf' ? requestBytes(request) : Buffer.from(JSON.stringify(request));
  });
}

export function gzipAll(bodies: readonly Buffer[]): Buffer[] {
  return bodies.map((body) => gzipSync(body));
}
