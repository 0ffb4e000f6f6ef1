/** `traces` or `logs`; the exporter of the OpenTelemetry Collector can set it, and spanscore forwarders do. */
export const SIGNAL_HEADER = 'otelcol.signal';

/** Encoding of a record, as in OTLP/HTTP. */
export const CONTENT_TYPE_HEADER = 'content-type';

/** Tenant of a record that was sent with the token of a tenant. */
export const TENANT_HEADER = 'spanscore.tenant';
