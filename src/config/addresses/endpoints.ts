import { ConfigError } from '../../domain/errors.ts';

/** Address to listen on. Port 0 means any free port. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port` or `[::1]:port`. Returns undefined for any other text. */
export function tryParseEndpoint(text: string): Endpoint | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** Like `tryParseEndpoint`, for text that the schema has checked. Throws a `ConfigError` for any other text. */
export function parseEndpoint(text: string): Endpoint {
  const endpoint = tryParseEndpoint(text);
  if (endpoint === undefined) {
    throw new ConfigError(`"${text}" is no endpoint: write host:port, like 127.0.0.1:4318`);
  }
  return endpoint;
}

/** True for a host that only this machine can reach. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Reads the parts of an address that is an `isPublicUrl`. The path has no slash at its end; '' for none. */
export function readPublicUrl(text: string) {
  const { origin, pathname } = new URL(text);
  return { origin, basePath: trimPath(pathname) };
}

/** True for an address that can be the beginning of others: without a query, and with a plain path. */
export function isPublicUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && !/[?#]/u.test(text) && isBasePath(trimPath(url.pathname));
}

/** True for a path, or '', that may stand in a cookie and in HTML as it is. */
export function isBasePath(path: string): boolean {
  return /^(?:\/[\w.~%-]+)*$/u.test(path);
}

export function trimPath(path: string): string {
  return path.replace(/\/+$/u, '');
}
