import { resolve } from 'node:path';
import type { KeyPath } from './key-path.ts';
import type { ParsedConfig } from './schema.ts';

/** Returns the base folder of a relative path in a value. */
export type FindFolder = (path: KeyPath) => string;

/** Parts of a configuration that name TLS files. */
type WithTls = Pick<ParsedConfig, 'receivers' | 'forward' | 'api'>;

/** Returns the parts with absolute paths of their TLS files. */
export function withAbsoluteTls({ receivers, forward, api }: WithTls, findFolder: FindFolder): WithTls {
  const { otlp, kafka } = receivers;
  const at = <T extends { tls?: object | undefined }>(part: T, ...path: string[]): T =>
    part.tls === undefined ? part : { ...part, tls: absolute(part.tls, [...path, 'tls'], findFolder) };
  return {
    api: at(api, 'api'),
    forward: forward === undefined ? undefined : { kafka: at(forward.kafka, 'forward', 'kafka') },
    receivers: {
      otlp: {
        http: at(otlp.http, 'receivers', 'otlp', 'http'),
        grpc: at(otlp.grpc, 'receivers', 'otlp', 'grpc'),
      },
      kafka: kafka === undefined ? undefined : at(kafka, 'receivers', 'kafka'),
    },
  };
}

const FILE_KEYS = new Set(['ca', 'cert', 'key', 'clientCa']);

function absolute(tls: object, path: KeyPath, findFolder: FindFolder): object {
  return Object.fromEntries(
    Object.entries(tls).map(([key, value]: [string, unknown]) =>
      FILE_KEYS.has(key) && typeof value === 'string'
        ? [key, resolve(findFolder([...path, key]), value)]
        : [key, value],
    ),
  );
}
