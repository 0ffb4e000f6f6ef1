import { expect, test } from 'vitest';
import { webhookHeaders } from '../../../../src/outbound/http/standard-webhook.ts';

const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
const NOW = 1_614_265_330_999;

test('the published example of Standard Webhooks has the published signature', () => {
  expect(webhookHeaders(message, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', NOW)).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a secret may be any text', () => {
  const plain = webhookHeaders(message, 'a text', NOW)['webhook-signature'];
  const encoded = webhookHeaders(message, `whsec_${Buffer.from('a text').toString('base64')}`, NOW);
  expect(plain).toBe(encoded['webhook-signature']);
});

test('without a secret nothing is signed', () => {
  expect(webhookHeaders(message, undefined, NOW)).not.toHaveProperty('webhook-signature');
});
