import { serverTls } from '../../src/config/schema/fields.ts';

/** Description of the group `receivers.otlp`. */
export const OTLP_GROUP = 'OpenTelemetry Protocol.';

/** Field for the TLS files of an OTLP receiver. */
export const otlpTls = serverTls('TLS of this address. Without it, spans are readable on the network.');
