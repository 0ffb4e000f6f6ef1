import { randomBytes, randomUUID } from 'node:crypto';
import type { Span } from '../../domain/trace/span.ts';
import { encodeSpan, RowWriter } from '../../store/contracts/rows.ts';
import type { Store } from '../../store/store.ts';

/** Begin of the model call and of the tool call, and end of the run, milliseconds after its begin. */
const TIMES = { model: 50, tool: 400, answer: 700, end: 1_400 } as const;

const QUESTION = 'Do I need an umbrella in Lisbon?';
const RESULT = { city: 'Lisbon', temperatureC: 21, sky: 'rain' };
const ANSWER = 'It is 21 °C in Lisbon. The sky is sunny, so no umbrella is needed.';

/**
 * Stores a made trace, as if an agent had sent it: the last words of its answer contradict the result of its tool. Returns its id.
 * @param nowMs end of the run, Unix milliseconds
 */
export async function storeSampleTrace(
  { sink }: Pick<Store, 'sink'>,
  { tenant, nowMs }: { readonly tenant: string; readonly nowMs: number },
): Promise<string> {
  const traceId = randomBytes(16).toString('hex');
  const writer = new RowWriter();
  const spans = buildSpans(traceId, nowMs - TIMES.end);
  for (const span of spans) {
    encodeSpan(writer, span, tenant);
  }
  await sink.insert({ table: 'otel_traces', rows: spans.length, chunks: [writer.written()] }, randomUUID());
  return traceId;
}

function buildSpans(traceId: string, startMs: number): Span[] {
  const [root, call] = [randomBytes(8).toString('hex'), 'call_1'];
  const span = (
    name: string,
    [from, to]: readonly [number, number],
    attributes: Readonly<Record<string, unknown>>,
    spanId = randomBytes(8).toString('hex'),
  ): Span => ({
    traceId,
    spanId,
    parentSpanId: spanId === root ? '' : root,
    traceState: '',
    name,
    kind: 'Internal',
    serviceName: 'sample',
    resourceAttributes: new Map([
      ['service.name', 'sample'],
      ['service.version', '1'],
    ]),
    // Spans of the scope of this program are no traces of agents.
    scopeName: 'sample',
    scopeVersion: '',
    attributes: new Map(
      Object.entries(attributes).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
    startUnixNano: BigInt(startMs + from) * 1_000_000n,
    durationNano: BigInt(to - from) * 1_000_000n,
    statusCode: 'Unset',
    statusMessage: '',
    events: [],
    links: [],
    droppedAttributesCount: 0,
  });
  const asked = [{ role: 'user', parts: [{ type: 'text', content: QUESTION }] }];
  const called = [
    {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: call, name: 'get_weather', arguments: { city: 'Lisbon' } }],
    },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: call, response: RESULT }] },
  ];
  const answered = [{ role: 'assistant', parts: [{ type: 'text', content: ANSWER }], finish_reason: 'stop' }];
  const model = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'sample',
    'gen_ai.response.model': 'sample',
  };
  return [
    span(
      'invoke_agent sample-agent',
      [0, TIMES.end],
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'sample-agent',
        'gen_ai.input.messages': asked,
        'gen_ai.output.messages': answered,
      },
      root,
    ),
    span('chat sample', [TIMES.model, TIMES.tool], {
      ...model,
      'gen_ai.input.messages': asked,
      'gen_ai.output.messages': called.slice(0, 1),
    }),
    span('execute_tool get_weather', [TIMES.tool, TIMES.answer], {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_weather',
      'gen_ai.tool.call.id': call,
      'gen_ai.tool.call.arguments': { city: 'Lisbon' },
      'gen_ai.tool.call.result': RESULT,
    }),
    span('chat sample', [TIMES.answer, TIMES.end], {
      ...model,
      'gen_ai.input.messages': [...asked, ...called],
      'gen_ai.output.messages': answered,
    }),
  ];
}
