import { resolve } from 'node:path';
import { withValueAt, type KeyPath } from './key-path.ts';
import type { ParsedConfig } from './schema.ts';
import { listReceivers, type ReceiverSection } from './schema/components.ts';

/** Returns the base folder of a relative path in a value. */
export type FindFolder = (path: KeyPath) => string;

/** Parts of a configuration that name TLS files. */
type WithTls = Pick<ParsedConfig, 'receivers' | 'api'>;

/** Returns the parts with absolute paths of their TLS files. */
export function withAbsoluteTls(
  { receivers, api }: WithTls,
  sections: readonly ReceiverSection[],
  findFolder: FindFolder,
): WithTls {
  const at = <T extends { tls?: object | undefined }>(part: T, path: KeyPath): T =>
    part.tls === undefined ? part : { ...part, tls: absolute(part.tls, [...path, 'tls'], findFolder) };
  const listed = listReceivers({ receivers }, sections);
  return {
    ...listed.reduce(
      (whole, { path, options }) => withValueAt(whole, path, at(options, path)) as Pick<WithTls, 'receivers'>,
      { receivers },
    ),
    api: at(api, ['api']),
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
