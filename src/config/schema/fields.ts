import { z } from 'zod';
import { DURATION_PATTERN, parseDurationMs } from '../duration.ts';
import { tryParseEndpoint } from '../endpoint.ts';

/** The kinds of field that many parts share. Values stay as written (`15m`), so that parsing twice changes nothing. */

/** A duration of `minMs` to `maxMs` milliseconds: `500ms`, `5s`, `15m`, `24h`, `30d`. Read it with `durationMs`. */
export function duration(
  description: string,
  options: { minMs?: number; minText?: string; maxMs?: number; maxText?: string } = {},
) {
  const { minMs = 0, maxMs = Number.POSITIVE_INFINITY } = options;
  return z
    .string()
    .regex(DURATION_PATTERN, { error: 'write a number and a unit, like 500ms, 5s, 15m, 24h or 30d' })
    .refine((text) => (parseDurationMs(text) ?? minMs) >= minMs, {
      error: `must be at least ${options.minText ?? `${minMs}ms`}`,
    })
    .refine((text) => (parseDurationMs(text) ?? maxMs) <= maxMs, {
      error: `must be at most ${options.maxText ?? `${maxMs}ms`}`,
    })
    .describe(description);
}

/** `host:port` to listen on. Read it with `parseEndpoint`. */
export function endpoint(description: string) {
  return z
    .string()
    .refine((text) => tryParseEndpoint(text) !== undefined, {
      error: 'write host:port, like 127.0.0.1:4318 (port 0 takes any free port)',
    })
    .describe(description);
}

/** An http or https URL. */
export function httpUrl(description: string) {
  return z
    .url({ protocol: /^https?$/, error: 'write a URL that begins with http:// or https://' })
    .describe(description);
}

/** A value that is never printed or logged. JSON Schema's `writeOnly` carries that fact. */
export function secret(description: string) {
  return z.string().describe(description).meta({ writeOnly: true });
}

/** A URL that lets whoever knows it post there: web hooks carry their key in the path or the query. */
export function hookUrl(description: string) {
  return httpUrl(description).meta({ writeOnly: true });
}

/** HTTP headers; their values count as secrets. */
export function headers(description: string) {
  return z.record(z.string(), z.string().meta({ writeOnly: true })).describe(description);
}

/** One text or a list of texts; read as a list. */
export function oneOrMore(description: string) {
  const text = z.string().min(1, { error: 'must not be empty' });
  return z
    .union([text, z.array(text).min(1, { error: 'needs at least one value' })])
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .describe(description);
}

/** A judge model: the provider's name, a slash, the model's name (which may hold slashes itself). */
export function judgeModel(description: string) {
  return z
    .string()
    .regex(/^[^/\s]+\/\S+$/, { error: 'write provider/model, like openai/gpt-5-mini' })
    .describe(description);
}

const pemFile = (description: string) =>
  z.string().min(1, { error: 'must not be empty' }).describe(description);

/** How a server of ours speaks TLS. */
export function serverTls(description: string) {
  return z
    .strictObject({
      cert: pemFile('File with the certificate (and those above it), PEM.'),
      key: pemFile('File with its key, PEM.'),
      clientCa: pemFile(
        'File with the authorities, PEM, one of which must have signed the certificate of every client.',
      ).optional(),
    })
    .describe(description)
    .optional();
}
