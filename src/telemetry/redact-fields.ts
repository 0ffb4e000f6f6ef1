import { findSecrets, isSecretName, joinRanges } from '../domain/secret-shapes.ts';

/** Text in place of a secret in a log line or a printed configuration. */
export const REDACTED = '[redacted]';

const MAX_DEPTH = 6;

const URL_QUERY = /(\bhttps?:\/\/[^\s?#"'<>]{1,2048}\?)[^\s#"'<>]+/gi;

/** Removes queries of URLs and every secret of a known shape from a text. */
export function redactText(text: string): string {
  const withoutQueries = text.replaceAll(URL_QUERY, `$1${REDACTED}`);
  const secrets = (['api-key', 'jwt', 'private-key', 'likely-key'] as const).flatMap((kind) =>
    findSecrets(kind, withoutQueries),
  );
  let clean = '';
  let at = 0;
  for (const [start, end] of joinRanges(secrets)) {
    clean += withoutQueries.slice(at, start) + REDACTED;
    at = end;
  }
  return clean + withoutQueries.slice(at);
}

/**
 * Copies log fields without secrets: replaces values of keys with secret names, cleans texts, and turns errors into name,
 * code, message, stack and cause. Values deeper than six levels become `[deep]`, so that a cycle ends.
 */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, redactMember(key, value, 0)]));
}

function redactMember(key: string, value: unknown, depth: number): unknown {
  const holdsSecret =
    isSecretName(key) && value !== undefined && value !== null && value !== '' && typeof value !== 'boolean';
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
