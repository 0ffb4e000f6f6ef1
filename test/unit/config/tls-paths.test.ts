import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/app/config/index.ts';

it('looks for TLS files beside the file that names them, for receivers, forwarder and API alike', () => {
  const files = { cert: 'a.pem', key: '/k.pem' };
  const kafka = { brokers: ['127.0.0.1:9092'], tls: { ca: 'ca.pem' } };
  const cwd = '/etc/spanscore';
  const otlp = { http: { tls: files }, grpc: { tls: files } };
  const absolute = parseConfig({ receivers: { otlp }, api: { tls: files }, forward: { kafka } }, { cwd });

  const found = { cert: '/etc/spanscore/a.pem', key: '/k.pem' };
  expect(absolute.receivers.otlp.http.tls).toEqual(found);
  expect(absolute.receivers.otlp.grpc.tls).toEqual(found);
  expect(absolute.api.tls).toEqual(found);
  expect(absolute.forward?.kafka.tls).toEqual({ ca: '/etc/spanscore/ca.pem' });

  const reading = parseConfig({ receivers: { kafka: { ...kafka, topics: ['spans'] } } }, { cwd });
  expect(reading.receivers.kafka?.tls).toEqual({ ca: '/etc/spanscore/ca.pem' });
});
