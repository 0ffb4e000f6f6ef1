import { createHmac } from 'node:crypto';

/**
 * Reads a `Retry-After` header (seconds, or an HTTP date) or `retry-after-ms` as milliseconds from now. Undefined when absent
 * or unreadable; 0 for a date in the past.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  nowMs: number,
): number | undefined {
  const milliseconds = readNumber(headers?.['retry-after-ms']);
  if (milliseconds !== undefined) {
    return Math.ceil(milliseconds);
  }
  const value = headers?.['retry-after']?.trim();
  if (value === undefined || value === '') {
    return undefined;
  }
  const seconds = readNumber(value);
  if (seconds !== undefined) {
    return Math.ceil(seconds * 1000);
  }
  // An HTTP date begins with a weekday; Date.parse would read a stray "-5" as a year.
  const date = /^[A-Za-z]/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

/** Content to sign: an id that stays the same in every repeat, and the exact bytes of the body. */
interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

/**
 * Builds the headers of a request by Standard Webhooks: `webhook-id`, `webhook-timestamp` (Unix seconds) and, with a secret,
 * `webhook-signature`: `v1,` and the HMAC-SHA256 over `id.timestamp.body`. A secret is `whsec_` and base64, or any text.
 */
export function webhookHeaders(
  { id, body }: WebhookMessage,
  secret: string | undefined,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) {
    return headers;
  }
  const key = secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret, 'utf8');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}
