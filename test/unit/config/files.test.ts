import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  readServeFile,
  removeServeFile,
  type ServeFile,
  writeServeFile,
} from '../../../src/config/serve-file.ts';
import { folderWith } from '../../support/builders/config-files.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { readServerTls, readTlsFiles } from '../../../src/config/tls-files.ts';
import { ConfigError } from '../../../src/domain/errors.ts';

function aServeFile(pid: number): ServeFile {
  return {
    pid,
    otlpHttp: 'http://127.0.0.1:4318',
    otlpGrpc: null,
    api: 'http://127.0.0.1:4320',
    clickhouse: { url: 'http://127.0.0.1:1', username: 'u', password: 'p', database: 'd' },
  };
}

/** No process has it: above the greatest pid that Linux gives. */
const NOBODY = 2 ** 22 + 1;

describe('serve.json', () => {
  it('is read back, for its owner only', () => {
    const folder = join(folderWith({}), 'new');

    writeServeFile(folder, aServeFile(process.pid));

    expect(readServeFile(folder)).toEqual(aServeFile(process.pid));
    expect(statSync(join(folder, 'serve.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['serve.json']);
  });

  it('of a process that is gone is no answer', () => {
    const folder = folderWith({});

    writeServeFile(folder, aServeFile(NOBODY));

    expect(readServeFile(folder)).toBeUndefined();
  });

  it.each(['', '{', '{"pid":1}', 'null'])('with %j in it is no answer', (text) => {
    const folder = folderWith({});
    writeFileSync(join(folder, 'serve.json'), text);

    expect(readServeFile(folder)).toBeUndefined();
  });

  it('that does not exist is no answer', () => {
    expect(readServeFile(join(folderWith({}), 'nowhere'))).toBeUndefined();
  });

  it('is removed by the process that wrote it only', () => {
    const folder = folderWith({});
    writeServeFile(folder, aServeFile(process.pid));

    removeServeFile(folder, NOBODY);
    expect(existsSync(join(folder, 'serve.json'))).toBe(true);
    removeServeFile(folder, process.pid);
    expect(existsSync(join(folder, 'serve.json'))).toBe(false);
    removeServeFile(folder, process.pid);
  });
});

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

  it('are found from the folder of the configuration, for receivers and API alike', () => {
    const tls = { cert: 'a.pem', key: '/keys/a.key' };
    const kafka = { brokers: ['127.0.0.1:9092'], topics: ['spans'], tls: { ca: 'ca.pem' } };
    const otlp = { http: { tls }, grpc: { tls: { ...tls, clientCa: 'ca.pem' } } };
    const { receivers, api } = parseConfig(
      { receivers: { otlp, kafka }, api: { tls } },
      { cwd: '/etc/spanscore' },
    );
    const absolute = { cert: '/etc/spanscore/a.pem', key: '/keys/a.key' };
    expect(receivers.otlp.http.tls).toEqual(absolute);
    expect(receivers.otlp.grpc.tls).toEqual({ ...absolute, clientCa: '/etc/spanscore/ca.pem' });
    expect(api.tls).toEqual(absolute);
    expect(receivers.kafka?.tls).toEqual({ ca: '/etc/spanscore/ca.pem' });
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
