import { expect, test } from 'vitest';
import { retryAfterMs, webhookHeaders } from '../../../src/delivery/http/headers.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['seconds', { 'retry-after': '7' }, 7000],
  ['part of a second', { 'retry-after': '0.5' }, 500],
  ['a date', { 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
  ['a date in the past', { 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
  ['milliseconds', { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
  ['nothing', {}, undefined],
  ['nonsense', { 'retry-after': '-5' }, undefined],
  ['words', { 'retry-after': 'soon' }, undefined],
])('a Retry-After of %s is read', (_form, headers, expected) => {
  expect(retryAfterMs(headers, NOW)).toBe(expected);
});

const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
const SIGNED_AT = 1_614_265_330_999;

test('the published example of Standard Webhooks has the published signature', () => {
  expect(webhookHeaders(message, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', SIGNED_AT)).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a secret may be any text', () => {
  const plain = webhookHeaders(message, 'a text', SIGNED_AT)['webhook-signature'];
  const encoded = webhookHeaders(message, `whsec_${Buffer.from('a text').toString('base64')}`, SIGNED_AT);
  expect(plain).toBe(encoded['webhook-signature']);
});

test('without a secret nothing is signed', () => {
  expect(webhookHeaders(message, undefined, SIGNED_AT)).not.toHaveProperty('webhook-signature');
});
