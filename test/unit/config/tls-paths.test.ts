import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';

it('looks for TLS files beside the file that names them, for receivers and API alike', () => {
  const files = { cert: 'a.pem', key: '/k.pem' };
  const kafka = { brokers: ['127.0.0.1:9092'], topics: ['spans'], tls: { ca: 'ca.pem' } };
  const cwd = '/etc/spanscore';
  const otlp = { http: { tls: files }, grpc: { tls: files } };
  const absolute = parseConfig({ receivers: { otlp, kafka }, api: { tls: files } }, { cwd });

  const found = { cert: '/etc/spanscore/a.pem', key: '/k.pem' };
  expect(absolute.receivers.otlp.http.tls).toEqual(found);
  expect(absolute.receivers.otlp.grpc.tls).toEqual(found);
  expect(absolute.api.tls).toEqual(found);
  expect(absolute.receivers.kafka?.tls).toEqual({ ca: '/etc/spanscore/ca.pem' });
});
