import type { Json } from './otlp-proto-writer.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

export function attribute(key: string, stringValue: string): Json {
  return { key, value: { stringValue } };
}

let lastSpan = 0;

/** Builds a valid OTLP/JSON span with a new id. `overrides` sets the fields that a test needs. */
export function jsonSpan(overrides: Json = {}): Json {
  lastSpan++;
  return {
    traceId: TRACE_ID,
    spanId: lastSpan.toString(16).padStart(16, '0'),
    name: 'chat',
    kind: 3,
    startTimeUnixNano: '1700000000000000001',
    endTimeUnixNano: '1700000001000000002',
    attributes: [attribute('gen_ai.operation.name', 'chat')],
    status: { code: 1 },
    ...overrides,
  };
}

/** Builds one export request with one resource and one scope. */
export function traceRequest(spans: readonly Json[], service = 'shop'): Json {
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', service)] },
        scopeSpans: [{ scope: { name: 'test', version: '1.0' }, spans }],
      },
    ],
  };
}

export function jsonLog(overrides: Json = {}): Json {
  return {
    timeUnixNano: '1700000000000000001',
    severityNumber: 9,
    severityText: 'INFO',
    traceId: TRACE_ID,
    spanId: '00000000000000aa',
    eventName: 'gen_ai.choice',
    body: { kvlistValue: { values: [attribute('content', 'hi')] } },
    attributes: [attribute('gen_ai.system', 'openai')],
    ...overrides,
  };
}

export function logRequest(logRecords: readonly Json[], service = 'shop'): Json {
  return {
    resourceLogs: [
      {
        resource: { attributes: [attribute('service.name', service)] },
        scopeLogs: [{ scope: { name: 'test', version: '1.0' }, logRecords }],
      },
    ],
  };
}
