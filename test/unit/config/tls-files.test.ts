import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { readServerTls, readTlsFiles } from '../../../src/config/tls-files.ts';
import { ConfigError } from '../../../src/domain/errors.ts';

const formatPath = (name: string): string => new URL(`../../fixtures/tls/${name}`, import.meta.url).pathname;

function readFault(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    return error instanceof ConfigError ? error.message : `another error: ${String(error)}`;
  }
  return 'none';
}

describe('the files of TLS', () => {
  it('are read for a server, which asks clients for a certificate only where an authority is named', () => {
    const files = { cert: formatPath('server.pem'), key: formatPath('server.key') };
    expect(readServerTls(files, 'tls')).toMatchObject({ requestCert: false, rejectUnauthorized: false });
    expect(readServerTls({ ...files, clientCa: formatPath('ca.pem') }, 'tls')).toMatchObject({
      requestCert: true,
      rejectUnauthorized: true,
    });
    expect(readServerTls(undefined, 'tls')).toBeUndefined();
  });

  it.each([
    ['is not there', { cert: formatPath('none.pem') }, 'at.cert: cannot read', 'ENOENT'],
    ['is a folder', { ca: formatPath('') }, 'at.ca: cannot read', 'EISDIR'],
    ['is no PEM', { key: formatPath('README.md') }, 'at.key: ', 'is no PEM file'],
    [
      'belongs to another',
      { cert: formatPath('server.pem'), key: formatPath('client.key') },
      'at: the certificate and its key cannot be used',
      'key values mismatch',
    ],
  ])('are refused with key, file and cause where one %s', (_, files, key, cause) => {
    const fault = readFault(() => readTlsFiles(files, 'at'));
    expect(fault).toContain(key);
    expect(fault).toContain(cause);
  });

  it('are found from the folder that the configuration is read from', () => {
    const tls = { cert: 'a.pem', key: '/keys/a.key' };
    const config = parseConfig(
      {
        receivers: { otlp: { http: { tls }, grpc: { tls: { ...tls, clientCa: 'ca.pem' } } } },
        api: { tls },
        rules: [],
      },
      { cwd: '/etc/spanscore' },
    );
    expect(config.receivers.otlp.http.tls).toEqual({ cert: '/etc/spanscore/a.pem', key: '/keys/a.key' });
    expect(config.receivers.otlp.grpc.tls?.clientCa).toBe('/etc/spanscore/ca.pem');
    expect(config.api.tls?.cert).toBe('/etc/spanscore/a.pem');
  });
});

describe('limits of requests and rows', () => {
  it('are refused where a request could never be taken', () => {
    const limits = { requestBytes: 8_388_608, inFlightBytes: 1_048_576 };
    expect(readFault(() => parseConfig({ ingest: { limits }, rules: [] }))).toContain(
      'must not exceed ingest.limits.inFlightBytes (1048576)',
    );
  });
});
