import { SECRET_SHAPES } from '../domain/secret-shapes.ts';

/** Text in place of a secret in a log line or a printed configuration. */
export const REDACTED = '[redacted]';

const MAX_DEPTH = 6;

const SECRET_NAMES = new Set([
  'token',
  'apikey',
  'password',
  'passwd',
  'secret',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'routingkey',
  'accesskey',
  'privatekey',
  'xclickhousekey',
  'xapikey',
]);

const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@:]{0,256}:[^\s/@]{1,256}@/gi;
const URL_QUERY = /(\bhttps?:\/\/[^\s?#"'<>]{1,2048}\?)[^\s#"'<>]+/gi;
const BEARER = /\b(bearer|basic) +[\w.~+/=-]{6,}/gi;
const SECRETS = Object.values(SECRET_SHAPES).map(({ source, signs }) => ({
  signs,
  pattern: new RegExp(source, 'gu'),
}));

/** True for a key whose value is a secret, in any spelling: `apiKey`, `api_key`, `X-Api-Key`. */
function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll(/[^a-z]/g, ''));
}

/** Removes credentials and queries of URLs, `Authorization` values and every secret of a known shape from a text. */
export function redactText(text: string): string {
  const withoutCredentials = text
    .replaceAll(URL_CREDENTIALS, `$1${REDACTED}@`)
    .replaceAll(URL_QUERY, `$1${REDACTED}`)
    .replaceAll(BEARER, `$1 ${REDACTED}`);
  return SECRETS.reduce(
    (cleaned, { signs, pattern }) =>
      signs.some((sign) => cleaned.includes(sign)) ? cleaned.replaceAll(pattern, REDACTED) : cleaned,
    withoutCredentials,
  );
}

/**
 * Copies log fields without secrets: replaces values of keys with secret names, cleans texts, and turns errors into name,
 * code, message, stack and cause. Values deeper than six levels become `[deep]`, so that a cycle ends.
 */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, redactMember(key, value, 0)]));
}

function redactMember(key: string, value: unknown, depth: number): unknown {
  const holdsSecret = isSecretName(key) && value !== undefined && value !== null && value !== '';
  return holdsSecret ? REDACTED : redactValue(value, depth);
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    return redactText(value);
  }
  if (typeof value === 'bigint') {
    return value.toString();
  }
  if (value === null || typeof value !== 'object') {
    return value;
  }
  if (depth >= MAX_DEPTH) {
    return '[deep]';
  }
  if (value instanceof Error) {
    return redactError(value, depth);
  }
  if (value instanceof Date) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => redactValue(item, depth + 1));
  }
  const members = Object.entries(value).map(([key, member]) => [key, redactMember(key, member, depth + 1)]);
  return Object.fromEntries(members) as Record<string, unknown>;
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const code: unknown = 'code' in error ? error.code : undefined;
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    message: redactText(error.message),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, depth + 1) }),
  };
}
