import { z } from 'zod';
import { wholeNumber } from './fields.ts';
import { MIB, KIB } from '../../domain/byte-sizes.ts';

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
      'Bytes of requests and rows in memory at once, over all senders. Above it, senders get 429 and retry later. A JSON request that needs more alone is answered with 413.',
      MIB,
      64 * KIB * MIB,
    ).default(256 * MIB),
    records: count(
      'Limit of spans or log records in a request, counted with their resources and scopes. A larger request is answered with 413.',
      'records',
    ).default(100_000),
    connections: count(
      'Limit of open connections of a receiver; half of them may have one address. At a limit, a new connection replaces the longest idle one.',
      'connections',
    ).default(2_000),
    spanBytes: bytes(
      'Largest span or log record. A larger one is rejected and reported to the sender as a partial success.',
      64 * KIB,
      64 * MIB,
    ).default(8 * MIB),
    textBytes: bytes(
      'Longest text in a span or log record (the value of an attribute, a name). The rest is cut off.',
      KIB,
      64 * MIB,
    ).default(4 * MIB),
    attributes: count(
      'Limit of attributes of a span, resource, event, link or log record. The first ones are kept.',
      'attributes',
    ).default(10_000),
    events: count('Limit of events of a span. The first ones are kept.', 'events').default(10_000),
    links: count('Limit of links of a span. The first ones are kept.', 'links').default(10_000),
  })
  .describe('Limits of a request and of a row. The column Truncated of a row names the parts that were cut.');

/** Schema of what receivers store. */
export const Ingest = z.strictObject({
  keep: z
    .enum(['all', 'agent-spans'])
    .default('all')
    .describe(
      'all: every span is stored whole. agent-spans: spans outside agents and model calls keep only ids, times, names, status and resource.',
    ),
  limits: limits.prefault({}),
});
