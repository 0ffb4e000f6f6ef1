/** Parts of `api.publicUrl`. */
export interface PublicUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path without a slash at its end; '' for none. */
  readonly basePath: string;
}

/** Reads the parts of an address that is an `isPublicUrl`. */
export function readPublicUrl(text: string): PublicUrl {
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

/** Removes the slashes at the end of a path. */
export function trimPath(path: string): string {
  return path.replace(/\/+$/u, '');
}
