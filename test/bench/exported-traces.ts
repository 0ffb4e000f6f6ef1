import type { Span } from '../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildSpan,
  chatMessage,
  chatSpan,
  toolCall,
  toolResponse,
  toolSpan,
} from '../support/builders/spans.ts';
import { exporterTables } from '../support/collector/exporter-tables.ts';
import type { ClickHouseAddress } from '../support/store/clickhouse-query.ts';

/** Spans of each trace. */
export const SPANS_PER_TRACE = 8;

/** Database of the tables of the Collector's exporter. */
export const DATABASE = 'otel';

/** Traces of one statement. */
const TRACES_AT_ONCE = 50_000;

const TEMPLATES = 'otel_template';

/** Stands for the number of the trace in the texts of the template. */
const NUMBER = '@@';

/**
 * Makes traces of 8 spans in the tables of the Collector's exporter: one template, with ids, times and texts of its own in each trace.
 * They begin evenly in the range.
 */
export async function makeExportedTraces(
  address: ClickHouseAddress,
  { traces, fromMs, toMs }: { readonly traces: number; readonly fromMs: number; readonly toMs: number },
): Promise<void> {
  const tables = await exporterTables(address, { database: DATABASE });
  const template = await exporterTables(address, { database: TEMPLATES, lookup: false });
  await template.addSpans(templateSpans());
  const stepMs = (toMs - fromMs) / traces;
  for (let first = 0; first < traces; first += TRACES_AT_ONCE) {
    const count = Math.min(TRACES_AT_ONCE, traces - first);
    await tables.run(`INSERT INTO {db}.otel_traces
      SELECT span.* REPLACE (
        lower(hex(MD5(concat('trace ', toString(n))))) AS TraceId,
        lower(substring(hex(MD5(concat(span.SpanId, toString(n)))), 1, 16)) AS SpanId,
        if(span.ParentSpanId = '', '', lower(substring(hex(MD5(concat(span.ParentSpanId, toString(n)))), 1, 16))) AS ParentSpanId,
        fromUnixTimestamp64Nano(1000000 * toInt64(${fromMs} + floor(n * ${stepMs}))
          + toUnixTimestamp64Nano(span.Timestamp) - (SELECT min(toUnixTimestamp64Nano(Timestamp)) FROM ${TEMPLATES}.otel_traces)) AS Timestamp,
        mapApply((key, value) -> (key, replaceAll(value, '${NUMBER}', toString(n))), span.SpanAttributes) AS SpanAttributes)
      FROM (SELECT number AS n FROM numbers(${first}, ${count})) AS traces CROSS JOIN ${TEMPLATES}.otel_traces AS span`);
  }
}

/** An agent behind an HTTP request: three model calls, two tool calls and a query of a database. */
function templateSpans(): Span[] {
  const question = chatMessage('user', `How warm is it in Paris, and will it rain? My ticket is ${NUMBER}.`);
  const answer = chatMessage(
    'assistant',
    `For ticket ${NUMBER}: it is 18 degrees in Paris now. It will rain in the evening, so please take an umbrella with you.`,
  );
  const asked = chatMessage('assistant', toolCall('call_1', 'get_weather', { city: 'Paris' }));
  const told = chatMessage('tool', toolResponse('call_1', { city: 'Paris', tempC: 18, sky: 'clouds' }));
  const askedAgain = chatMessage(
    'assistant',
    toolCall('call_2', 'get_forecast', { city: 'Paris', hours: 12 }),
  );
  const toldAgain = chatMessage('tool', toolResponse('call_2', { city: 'Paris', rainFrom: '18:00' }));
  const chat = (name: string, at: number, input: unknown[], output: unknown) =>
    chatSpan(
      name,
      {
        input,
        output: [output],
        attributes: {
          'gen_ai.system_instructions': [
            { type: 'text', content: 'You are a weather assistant. Answer in two sentences.' },
          ],
          'gen_ai.usage.input_tokens': '181',
          'gen_ai.usage.output_tokens': '37',
        },
      },
      { parent: 'weather', at, lasts: 300 },
    );
  return [
    buildSpan('POST /ask', { 'http.request.method': 'POST', 'url.path': '/ask' }, { lasts: 1_400 }),
    agentSpan(
      'weather',
      {
        'gen_ai.input.messages': [question],
        'gen_ai.output.messages': [answer],
        'gen_ai.conversation.id': `ticket-${NUMBER}`,
      },
      { parent: 'POST /ask', at: 10, lasts: 1_300 },
    ),
    chat('chat 1', 20, [question], asked),
    toolSpan(
      'tool 1',
      {
        id: 'call_1',
        name: 'get_weather',
        args: { city: 'Paris' },
        result: { city: 'Paris', tempC: 18, sky: 'clouds' },
      },
      { parent: 'weather', at: 330, lasts: 50 },
    ),
    chat('chat 2', 390, [question, asked, told], askedAgain),
    toolSpan(
      'tool 2',
      {
        id: 'call_2',
        name: 'get_forecast',
        args: { city: 'Paris', hours: 12 },
        result: { city: 'Paris', rainFrom: '18:00' },
      },
      { parent: 'weather', at: 700, lasts: 60 },
    ),
    buildSpan(
      'SELECT forecasts',
      { 'db.system.name': 'postgresql', 'db.query.text': 'SELECT * FROM forecasts' },
      { parent: 'tool 2', at: 710, lasts: 30, scope: 'pg' },
    ),
    chat('chat 3', 770, [question, asked, told, askedAgain, toldAgain], answer),
  ];
}
