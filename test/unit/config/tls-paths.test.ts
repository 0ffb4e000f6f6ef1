import { expect, it } from 'vitest';
import { withAbsoluteTls } from '../../../src/config/absolute-paths.ts';
import { configSchema } from '../../../src/app/config/index.ts';

it('looks for TLS files beside the file that names them, for receivers, forwarder and API alike', () => {
  const files = { cert: 'a.pem', key: '/k.pem' };
  const kafka = { brokers: ['127.0.0.1:9092'], tls: { ca: 'ca.pem' } };
  const config = configSchema.parse({
    receivers: { otlp: { http: { tls: files }, grpc: { tls: files } } },
    api: { tls: files },
    forward: { kafka },
  });
  const absolute = withAbsoluteTls(config, () => '/etc/spanscore');
  expect(absolute.receivers.otlp.grpc.tls).toEqual({ cert: '/etc/spanscore/a.pem', key: '/k.pem' });
  expect(absolute.api.tls).toEqual({ cert: '/etc/spanscore/a.pem', key: '/k.pem' });
  expect(absolute.forward?.kafka.tls).toEqual({ ca: '/etc/spanscore/ca.pem' });
});
