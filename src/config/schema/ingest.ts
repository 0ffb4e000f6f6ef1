import { z } from 'zod';
import { wholeNumber } from './fields.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const bytes = (description: string, min: number, max: number) =>
  wholeNumber(description, { unit: 'bytes', min, max });

const count = (description: string, unit: string) => wholeNumber(description, { unit, max: 1_000_000 });

const limits = z
  .strictObject({
    requestBytes: bytes(
      'Largest request, both as sent and decompressed. A larger one is answered with 413.',
      64 * KIB,
      256 * MIB,
    ).default(64 * MIB),
    inFlightBytes: bytes(
      'Request and row bytes in memory at once, over all senders. Above it, senders get 429 and send again later. A JSON request that needs more by itself is answered with 413.',
      MIB,
      64 * KIB * MIB,
    ).default(256 * MIB),
    records: count(
      'Most spans or log records in a request, counted together with the resources and scopes that group them. A request with more is answered with 413.',
      'records',
    ).default(100_000),
    connections: count(
      'Open connections of a receiver. Further ones are closed at once.',
      'connections',
    ).default(2_000),
    spanBytes: bytes(
      'Largest span or log record. A larger one is left out and reported to the sender as a partial success.',
      64 * KIB,
      64 * MIB,
    ).default(8 * MIB),
    textBytes: bytes(
      'Longest text in a span or log record (the value of an attribute, a name). The rest is cut off.',
      KIB,
      64 * MIB,
    ).default(4 * MIB),
    attributes: count(
      'Most attributes of a span, resource, event, link or log record. The first ones are kept.',
      'attributes',
    ).default(10_000),
    events: count('Most events of a span. The first ones are kept.', 'events').default(10_000),
    links: count('Most links of a span. The first ones are kept.', 'links').default(10_000),
  })
  .describe('Limits of a request and of a row. The column Truncated of a row names the parts that were cut.');

/** Schema of what receivers store. */
export const Ingest = z.strictObject({
  keep: z
    .enum(['all', 'agent-spans'])
    .default('all')
    .describe(
      'agent-spans: spans that belong to no agent and no model call keep only ids, times, names, status and resource.',
    ),
  limits: limits.prefault({}),
});
