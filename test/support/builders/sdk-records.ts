import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  type ReadableLogRecord,
  SimpleLogRecordProcessor,
} from '@opentelemetry/sdk-logs';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

const resource = resourceFromAttributes({ 'service.name': 'shop', 'process.pid': 42 });

/** Creates ended spans with the real SDK: one call with an event, a link and a parent, and `more` plain spans. */
export function sdkSpans(more = 1): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const tracer = provider.getTracer('test', '1.2.3');
  const parent = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 1,
    traceState: createTraceState('vendor=1'),
    isRemote: true,
  });
  const span = tracer.startSpan(
    'chat gpt-5-mini',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_700_000_000, 123_456_789],
      attributes: {
        'gen_ai.request.model': 'gpt-5-mini',
        'gen_ai.usage.input_tokens': 193,
        'gen_ai.request.temperature': 0.2,
        'gen_ai.response.finish_reasons': ['stop'],
        streaming: true,
        text: 'It is 18°C — and rainy 🌧',
        negative: -7,
        large: 9_007_199_254_740_991,
      },
      links: [{ context: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 } }],
    },
    parent,
  );
  span.addEvent('exception', { 'exception.type': 'TypeError' }, [1_700_000_000, 999]);
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'it broke' });
  span.end([1_700_000_003, 4]);
  for (let i = 0; i < more; i++) {
    tracer.startSpan(`step ${i}`, { startTime: [1_700_000_001, i] }).end([1_700_000_001, i + 1]);
  }
  return exporter.getFinishedSpans();
}

/** Creates one GenAI event with the real SDK. */
export function sdkLogs(): ReadableLogRecord[] {
  const exporter = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({ resource, processors: [new SimpleLogRecordProcessor({ exporter })] });
  const context = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 1,
  });
  provider.getLogger('test', '1.2.3').emit({
    eventName: 'gen_ai.choice',
    body: { content: 'hi' },
    attributes: { 'gen_ai.system': 'openai' },
    timestamp: 1_700_000_000_000,
    context,
  });
  return exporter.getFinishedLogRecords();
}
