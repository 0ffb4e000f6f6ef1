/** `traces` or `logs`; set by the OpenTelemetry Collector's exporter when told to, and by forwarders of ours. */
export const SIGNAL_HEADER = 'otelcol.signal';

/** Header of a record's encoding, as in OTLP/HTTP. */
export const CONTENT_TYPE_HEADER = 'content-type';

/** Whose a record is, where it was sent with a token of a tenant. */
export const TENANT_HEADER = 'spanscore.tenant';
