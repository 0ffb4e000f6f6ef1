import { trace } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

/** As what service comes from OTEL_SERVICE_NAME. */
const resource = detectResources({ detectors: [envDetector] });

/** The usual set-up of an application: where to comes from OTEL_EXPORTER_OTLP_ENDPOINT. */
export function startTelemetry(spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())]) {
  const provider = new NodeTracerProvider({ resource, spanProcessors });
  provider.register();
  return provider;
}

/** As `startTelemetry`, for log records. */
export function startLogs() {
  return new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor(new OTLPLogExporter())] });
}

/** Wraps work in one span, as the instrumentation of a web framework does for a request. */
export function withRequestSpan(work) {
  return trace.getTracer('web').startActiveSpan('POST /ask', async (span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });
}
