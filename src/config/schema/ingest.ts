import { z } from 'zod';

const KIB = 1024;
const MIB = 1024 * KIB;

const bytes = (description: string, least: number, most: number) =>
  z
    .int()
    .min(least, { error: `must be at least ${least}` })
    .max(most, { error: `must be at most ${most}` })
    .describe(description);

const count = (description: string) =>
  z
    .int()
    .min(1, { error: 'must be at least 1' })
    .max(1_000_000, { error: 'must be at most 1000000' })
    .describe(description);

const limits = z
  .strictObject({
    requestBytes: bytes(
      'Largest request, as sent and decompressed; more is answered 413.',
      64 * KIB,
      256 * MIB,
    ).default(64 * MIB),
    inFlightBytes: bytes(
      'Request and row bytes held at once over all senders; above it they are told to come again (429). JSON that alone takes more to be read is answered 413.',
      MIB,
      64 * KIB * MIB,
    ).default(256 * MIB),
    records: count(
      'Most spans or log records of a request, counted with the resources and scopes that group them; more is answered 413.',
    ).default(100_000),
    connections: count('Open connections of a receiver; further ones are closed at once.').default(2_000),
    spanBytes: bytes(
      'Largest span or log record; a larger one is left out and reported as a partial success.',
      64 * KIB,
      64 * MIB,
    ).default(8 * MIB),
    textBytes: bytes(
      "Longest text of a span or log record (an attribute's value, a name); the rest is cut off.",
      KIB,
      64 * MIB,
    ).default(4 * MIB),
    attributes: count(
      'Most attributes of a span, resource, event, link or log record; the first are kept.',
    ).default(10_000),
    events: count('Most events of a span; the first are kept.').default(10_000),
    links: count('Most links of a span; the first are kept.').default(10_000),
  })
  .describe('Bounds of what is taken in. What is cut is named in the column Truncated of its row.');

/** What is taken in. */
export const Ingest = z.strictObject({
  keep: z
    .enum(['all', 'agent-spans'])
    .default('all')
    .describe(
      'agent-spans: of spans that are of no agent or model call, keep only ids, times, names, status and resource.',
    ),
  limits: limits.prefault({}),
});
