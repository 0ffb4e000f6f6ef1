import { PAGE_PATHS, type PagePath } from '../../../api/dashboard/page-paths.ts';

/** Page of a path, with the values of the path's parameters. */
export interface Place {
  readonly page: PagePath;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the page of a path. Returns undefined for a path of no page. */
export function matchPath(path: string): Place | undefined {
  for (const page of PAGE_PATHS) {
    const params = readParams(page, path);
    if (params !== undefined) {
      return { page, params };
    }
  }
  return undefined;
}

function readParams(page: string, path: string): Record<string, string> | undefined {
  const wanted = page.split('/');
  const parts = path.length > 1 ? path.replace(/\/$/u, '').split('/') : path.split('/');
  if (wanted.length !== parts.length) {
    return undefined;
  }
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const name = wanted[index] ?? '';
    if (name.startsWith(':')) {
      const value = decode(part);
      if (value === undefined || value === '') {
        return undefined;
      }
      params[name.slice(1)] = value;
    } else if (name !== part) {
      return undefined;
    }
  }
  return params;
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
