import { z } from 'zod';
import { BYTE_SIZE_PATTERN, parseByteSize, DURATION_PATTERN, durationMs, parseDurationMs } from '../units.ts';
import { tryParseEndpoint } from '../addresses/endpoints.ts';
import { isAddressOrNetwork, isLinkLocalUrl } from '../addresses/private-addresses.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';

/** Messages for values of the wrong form: the right form, and the value that was probably meant. */

const UNITS: readonly [ms: number, unit: string, names: RegExp][] = [
  [DAY_MS, 'd', /^d(ays?)?$/],
  [HOUR_MS, 'h', /^h((ou)?rs?)?$/],
  [60_000, 'm', /^m(in(ute)?s?)?$/],
  [1000, 's', /^s(ec(ond)?s?)?$/],
  [1, 'ms', /^(ms|msecs?|milli(second)?s?)$/],
  [7 * DAY_MS, 'd', /^w(eeks?)?$/],
];

const DURATION_FORM = 'a whole number and a unit, like 500ms, 5s, 15m, 24h or 30d';

/** Units that are proposed for a number without one; the first that the field takes. */
const PROPOSED_UNITS = ['s', 'm', 'h', 'd'];

const ENDPOINT_FORM = 'host:port, like 127.0.0.1:4318; port 0 takes any free port';

/**
 * Fields that many parts share. Values stay as written (`15m`), so that a second parse changes nothing.
 * Every key of the schema documents itself, for editors and for docs/configuration.md: `.describe()` gives the meaning, a
 * number has `.meta({ unit })`, a text without a default has `.meta({ examples })`. A unit test finds keys without them.
 * The fields of this file already have a unit or an example; a further `.meta({ examples })` replaces theirs.
 */

/** Limits of a duration, as people write them. */
interface DurationLimits {
  readonly min?: string;
  readonly max?: string;
  /** The duration must be a multiple of this. */
  readonly step?: string;
  /** Words for the multiples. */
  readonly stepText?: string;
}

/** Field for a duration of `min` to `max`: `500ms`, `5s`, `15m`, `24h`, `30d`. Read it with `durationMs`. */
export function duration(
  description: string,
  { min = '0ms', max, step = '1ms', stepText }: DurationLimits = {},
) {
  const [minMs, stepMs] = [durationMs(min), durationMs(step)];
  const maxMs = max === undefined ? Number.POSITIVE_INFINITY : durationMs(max);
  const isTaken = (ms: number) => ms >= minMs && ms <= maxMs && ms % stepMs === 0;
  return z
    .string({
      error: ({ input }) =>
        input === undefined || input === null ? undefined : durationAdvice(input, isTaken),
    })
    .regex(DURATION_PATTERN, { error: ({ input }) => durationAdvice(input, isTaken) })
    .refine((text) => (parseDurationMs(text) ?? minMs) >= minMs, { error: `must be at least ${min}` })
    .refine((text) => (parseDurationMs(text) ?? maxMs) <= maxMs, { error: `must be at most ${max ?? ''}` })
    .refine((text) => (parseDurationMs(text) ?? 0) % stepMs === 0, {
      error: `must be ${stepText ?? `a multiple of ${step}`}`,
    })
    .describe(description)
    .meta({ unit: 'duration', examples: ['30s'] });
}

export function fromZeroToOne(error = 'must be between 0 and 1') {
  return z.number().min(0, { error }).max(1, { error });
}

/** Field for a whole number of `min` (1) to `max`; `unit` is the plural of the thing counted. */
export function wholeNumber(description: string, options: { unit: string; min?: number; max?: number }) {
  const { unit, min = 1, max = Number.MAX_SAFE_INTEGER } = options;
  return z
    .int()
    .min(min, { error: `must be at least ${min}` })
    .max(max, { error: `must be at most ${max}` })
    .describe(description)
    .meta({ unit });
}

/** Field for a memory size of at least `minMiB`: `256MiB`, `1GiB`. Read it with `byteSize`. */
export function memorySize(description: string, minMiB: number) {
  return z
    .string()
    .regex(BYTE_SIZE_PATTERN, { error: 'write a number and a unit, like 256MiB or 1GiB' })
    .refine((text) => (parseByteSize(text) ?? minMiB * MIB) >= minMiB * MIB, {
      error: `must be at least ${minMiB}MiB`,
    })
    .describe(description)
    .meta({ unit: 'size', examples: ['256MiB'] });
}

/** Field for the `host:port` to listen on. Read it with `parseEndpoint`. */
export function endpoint(description: string) {
  return z
    .string({ error: ({ input }) => (typeof input === 'number' ? endpointAdvice(input) : undefined) })
    .refine((text) => tryParseEndpoint(text) !== undefined, { error: ({ input }) => endpointAdvice(input) })
    .describe(description)
    .meta({ examples: ['127.0.0.1:4318'] });
}

/**
 * Field for an http or https URL.
 * @param instead what to do instead of a user name or a password in the URL; absent: both may be in it
 */
export function httpUrl(description: string, instead?: string) {
  return z
    .url({
      protocol: /^https?$/,
      error: ({ input }) => (typeof input === 'string' ? urlAdvice(input) : undefined),
    })
    .refine((text) => instead === undefined || !hasCredentials(text), {
      error: `must contain no user name and no password: ${instead ?? ''}`,
    })
    .refine((text) => !isLinkLocal(text), {
      error:
        'must not lead to a link-local address, such as the address of cloud metadata: name another host',
    })
    .describe(description)
    .meta({ examples: ['https://spanscore.example.com'] });
}

function hasCredentials(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.username !== '' || url.password !== '');
}

function isLinkLocal(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isLinkLocalUrl(url);
}

/** Field for a value that is never printed or logged. `writeOnly` of JSON Schema marks it. */
export function secret(description: string) {
  return z
    .string()
    .describe(description)
    .meta({ writeOnly: true, examples: ['${env:NAME}'] });
}

/** Field for the URL of a webhook. Its path or query holds a key, so the URL is a secret. */
export function hookUrl(description: string, instead?: string) {
  return httpUrl(description, instead).meta({ writeOnly: true, examples: ['${env:HOOK_URL}'] });
}

/** Field for HTTP headers; their values are secrets. */
export function headers(description: string) {
  return z.record(z.string(), z.string().meta({ writeOnly: true })).describe(description);
}

export function networks(description: string) {
  return z
    .array(z.string().refine(isAddressOrNetwork, { error: 'write an address or a network, like 10.0.0.0/8' }))
    .default([])
    .describe(description);
}

/** Field for a text that is not empty. */
export function words(description: string, example: string) {
  return z
    .string()
    .min(1)
    .describe(description)
    .meta({ examples: [example] });
}

/** Field for one text or a list of texts; read as a list. */
export function oneOrMore(description: string) {
  const text = z.string().min(1, { error: 'must not be empty' });
  return z
    .union([text, z.array(text).min(1, { error: 'needs at least one value' })])
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .describe(description);
}

/** Field for a judge model: the provider, a slash, the model name (which may have slashes). */
export function judgeModel(description: string) {
  return z
    .string()
    .regex(/^[^/\s]+\/\S+$/, { error: ({ input }) => judgeAdvice(input) })
    .describe(description)
    .meta({ examples: ['openai/gpt-5-mini'] });
}

export function pemFile(description: string, example: string) {
  return z
    .string()
    .min(1, { error: 'must not be empty' })
    .describe(description)
    .meta({ examples: [example] });
}

/** Field for the address of a JSON Schema, which editors read and spanscore ignores. */
export const schemaAddress = z
  .string()
  .describe('Address of this schema, for editors.')
  .meta({ examples: ['./node_modules/spanscore/schemas/json/config.schema.json'] })
  .optional();

export function serverTls(description: string) {
  return z
    .strictObject({
      cert: pemFile(
        'PEM file with the certificate, followed by the intermediate certificates.',
        './server.pem',
      ),
      key: pemFile('PEM file with the private key of the certificate.', './server.key'),
      clientCa: pemFile(
        'PEM file with certificate authorities. Clients must then present a certificate of one of them.',
        './clients.pem',
      ).optional(),
    })
    .describe(description)
    .optional();
}

export const channelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { error: 'write letters, digits and _ . - (at most 64)' })
  .describe('Name of the channel in stored messages. Absent: a hash of its address.')
  .meta({ examples: ['on-call'] })
  .optional();

/** Field for the number of attempts of an exporter. */
export const exportAttempts = wholeNumber(
  'Number of attempts to deliver a score that fails while others are delivered, before it becomes a dead letter (spanscore dlq).',
  { unit: 'attempts', max: 100 },
).default(10);

/**
 * Returns advice for a value that is no duration. Understands `5 s`, `1.5h`, `1h30m`, `PT5S` and `2 weeks`.
 * @param isTaken true for a duration that the field takes, in milliseconds; nothing else is proposed
 */
function durationAdvice(input: unknown, isTaken: (ms: number) => boolean): string {
  const isProposed = (text: string) => isTaken(parseDurationMs(text) ?? Number.NaN);
  if (/^[1-9]\d*$/.test(String(input).trim())) {
    const [first, second] = PROPOSED_UNITS.map((unit) => `${Number(input)}${unit}`).filter(isProposed);
    const meant = second === undefined ? first : `${first} or ${second}`;
    return meant === undefined ? `write ${DURATION_FORM}` : `needs a unit: write ${meant} (${DURATION_FORM})`;
  }
  const meant = typeof input === 'string' ? guessDuration(input) : undefined;
  return meant === undefined || !isProposed(meant)
    ? `write ${DURATION_FORM}`
    : `write ${meant} (${DURATION_FORM})`;
}

function guessDuration(text: string): string | undefined {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^pt?(?=\d)/, '');
  const parts = [...bare.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== bare) {
    return undefined;
  }
  let ms = 0;
  for (const [, amount, name = ''] of parts) {
    const unit = UNITS.find(([, , names]) => names.test(name));
    if (unit === undefined) {
      return undefined;
    }
    ms += Number(amount) * unit[0];
  }
  const [length, unit] = UNITS.find(([size]) => ms > 0 && ms % size === 0) ?? [1, 'ms'];
  const meant = `${ms / length}${unit}`;
  return DURATION_PATTERN.test(meant) ? meant : undefined;
}

/** Returns advice for a value that is no `host:port`: a port alone, a URL, an IPv6 address without brackets. */
function endpointAdvice(input: unknown): string {
  const text = String(input).trim();
  const guesses = [
    `127.0.0.1:${text.replace(/^:/, '')}`,
    text.replace(/^[a-z]+:\/\//i, '').replace(/\/.*$/, ''),
    text.replace(/^([0-9a-f:]*:):?(\d+)$/i, (_, host: string, port) => `[${host.replace(/:$/, '')}]:${port}`),
  ];
  const isFormed = typeof input === 'string' || typeof input === 'number';
  const meant = isFormed ? guesses.find((guess) => tryParseEndpoint(guess) !== undefined) : undefined;
  return meant === undefined ? `write ${ENDPOINT_FORM}` : `write ${meant} (${ENDPOINT_FORM})`;
}

/** Returns advice for a value that is no http or https URL. */
function urlAdvice(input: unknown): string {
  const form = 'a URL that begins with http:// or https://';
  const isHost =
    typeof input === 'string' && /^[\w.-]+(:\d+)?(\/\S*)?$/.test(input) && /[.:]|^localhost/.test(input);
  return isHost ? `write http://${input} (${form})` : `write ${form}`;
}

/** Returns advice for a value that is no `provider/model`. */
function judgeAdvice(input: unknown): string {
  const form = 'provider/model, like openai/gpt-5-mini';
  const text = typeof input === 'string' ? input.trim() : '';
  const guess = /^(gpt-|o\d)/.test(text) ? `openai/${text}` : text.replace(/^([\w-]+)[:.](?=\S)/, '$1/');
  return /^[^/\s]+\/\S+$/.test(guess) ? `write ${guess} (${form})` : `write ${form}`;
}
