/** `traces` or `logs`; the exporter of the OpenTelemetry Collector can set it. */
export const SIGNAL_HEADER = 'otelcol.signal';

/** Encoding of a record, as in OTLP/HTTP. */
export const CONTENT_TYPE_HEADER = 'content-type';

/** Tenant of a record, where its senders may name one. */
export const TENANT_HEADER = 'spanscore.tenant';

/** Headers that have a meaning. */
export const KNOWN_HEADERS: ReadonlySet<string> = new Set([
  SIGNAL_HEADER,
  CONTENT_TYPE_HEADER,
  TENANT_HEADER,
]);
