import { createHmac } from 'node:crypto';

/** Content to sign: an id that stays the same in every repeat, and the exact bytes of the body. */
export interface WebhookMessage {
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
