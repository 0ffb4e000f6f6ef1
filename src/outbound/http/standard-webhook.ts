import { createHmac } from 'node:crypto';

/** Signed content: an id that stays the same for every repeat, and the body's exact bytes. */
export interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

/**
 * The headers of a web request as Standard Webhooks says: `webhook-id`, `webhook-timestamp` (Unix seconds) and, with a secret,
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
