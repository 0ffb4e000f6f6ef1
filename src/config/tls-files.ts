import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError, readErrorMessage } from '../domain/errors.ts';
import type { ConfigIssue } from './faults/config-issue.ts';
import type { Config } from './schema.ts';
import { listReceivers, type ReceiverSection, type TlsPaths } from './schema/components.ts';

type Part = 'ca' | 'cert' | 'key';

export type TlsMaterial = Readonly<Partial<Record<Part, Buffer>>>;

/** TLS options of Node's servers. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Present when clients must present a certificate. */
  readonly ca?: Buffer;
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/**
 * Reads PEM files. `at` is their place in the configuration, for errors. Throws a `ConfigError` with the key, the file and
 * the cause: the file cannot be read, is no PEM, or the key does not belong to the certificate.
 */
export function readTlsFiles(
  files: Readonly<Partial<Record<Part, string | undefined>>>,
  at: string,
): TlsMaterial {
  const material: Partial<Record<Part, Buffer>> = {};
  for (const part of ['ca', 'cert', 'key'] as const) {
    const file = files[part];
    if (file !== undefined) {
      material[part] = readPart(file, `${at}.${part}`);
    }
  }
  check(() => createSecureContext(material), at, 'the certificate and its key cannot be used');
  return material;
}

export function tlsIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  return [
    ...listReceivers(config, receivers).flatMap(({ section, options }) =>
      groupIssues(options.tls, `${section.key}.tls`),
    ),
    ...groupIssues(config.api.tls, 'api.tls'),
  ];
}

/** Checks each file alone first: a missing certificate must not hide a missing key. */
function groupIssues(tls: TlsPaths = {}, at: string): ConfigIssue[] {
  const parts = (['ca', 'clientCa', 'cert', 'key'] as const).filter((part) => tls[part] !== undefined);
  const issues = parts.flatMap((part) => {
    const file = { [part === 'clientCa' ? 'ca' : part]: tls[part] };
    return issuesOfReading(file, at).map((issue) => ({ ...issue, path: [...at.split('.'), part] }));
  });
  return issues.length > 0 || parts.length === 0
    ? issues
    : issuesOfReading({ cert: tls.cert, key: tls.key }, at);
}

function issuesOfReading(files: Parameters<typeof readTlsFiles>[0], at: string): ConfigIssue[] {
  try {
    readTlsFiles(files, at);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }
    const [, message = error.message] = /^[\w.]+: (.*)$/s.exec(error.message) ?? [];
    return [{ path: at.split('.'), message }];
  }
}

/** Like `readTlsFiles`, for a server. Returns undefined when no TLS is configured. */
export function readServerTls(
  tls: { readonly cert: string; readonly key: string; readonly clientCa?: string | undefined } | undefined,
  at: string,
): ServerTls | undefined {
  if (tls === undefined) {
    return undefined;
  }
  const { cert, key, ca } = readTlsFiles({ cert: tls.cert, key: tls.key, ca: tls.clientCa }, at);
  if (cert === undefined || key === undefined) {
    throw new ConfigError(`${at}: a server needs both cert and key`);
  }
  const asksClients = ca !== undefined;
  return {
    cert,
    key,
    ...(asksClients ? { ca } : {}),
    requestCert: asksClients,
    rejectUnauthorized: asksClients,
  };
}

function readPart(file: string, at: string): Buffer {
  const bytes = check(() => readFileSync(file), at, `cannot read ${file}`);
  if (!bytes.includes('-----BEGIN ')) {
    throw new ConfigError(`${at}: ${file} is no PEM file: it has no line that begins with -----BEGIN`);
  }
  return bytes;
}

function check<T>(action: () => T, at: string, what: string): T {
  try {
    return action();
  } catch (cause) {
    throw new ConfigError(`${at}: ${what}: ${readErrorMessage(cause)}`, {}, cause);
  }
}
