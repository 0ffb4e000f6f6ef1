import type { Query } from './paths/fill-path.ts';

/** Parameters of the address that all pages share: the bar of the frame shows them, and its links keep them. */
const FRAME_FIELDS = ['since', 'until', 'agent', 'environment', 'tenant'] as const;

/** Ranges of time to choose from, with their names. */
export const TIME_RANGES = [
  ['1h', 'last hour'],
  ['24h', 'last 24 h'],
  ['7d', 'last 7 days'],
  ['14d', 'last 14 days'],
  ['30d', 'last 30 days'],
  ['90d', 'last 90 days'],
] as const;

/** Ranges of time of a preview or a backfill. */
export const RANGES = ['1h', '24h', '7d', '30d', '90d'] as const;

/** Range of a page whose address names none. A search looks further back, for the one that it seeks may be old. */
export function defaultSince(path: string, search: URLSearchParams): string {
  if (path === '/traces' && search.has('q')) {
    return '90d';
  }
  if (path === '/compare' || path === '/alerts') {
    return '90d';
  }
  return /^\/(scores\/|issues|coverage$|judges$|review$)/u.test(path) ? '7d' : '24h';
}

/** Reads the filters of the bar, as the routes of the API take them. */
export function readFrame(
  path: string,
  search: URLSearchParams,
): Readonly<Record<string, readonly string[]>> {
  const given = FRAME_FIELDS.flatMap((name) => {
    const values = search.getAll(name).filter((value) => value !== '');
    return values.length === 0 || name === 'tenant' ? [] : [[name, values] as const];
  });
  return {
    ...(search.has('until') ? {} : { since: [defaultSince(path, search)] }),
    ...Object.fromEntries(given),
  };
}

/** Adds the filters of the bar to an address; one that it names already stays, and a range stays whole. */
export function keepFrame(url: string, search: URLSearchParams): string {
  const [path = '', query = ''] = url.split('?');
  const next = new URLSearchParams(query);
  const hasRange = next.has('since') || next.has('until');
  for (const name of FRAME_FIELDS) {
    if (!next.has(name) && !(hasRange && (name === 'since' || name === 'until'))) {
      search.getAll(name).forEach((value) => next.append(name, value));
    }
  }
  return next.size === 0 ? path : `${path}?${next.toString()}`;
}

/** Changes of the address for a choice of the bar; a range from the list ends now. */
export function chooseInFrame(name: string, value: string): Query {
  return { [name]: value, cursor: undefined, ...(name === 'since' ? { until: undefined } : {}) };
}

/** Address for a text of the search: a whole trace id leads to its trace. */
export function searchPath(text: string): string {
  const wanted = text.trim();
  return /^[\da-f]{32}$/iu.test(wanted)
    ? `/traces/${wanted.toLowerCase()}`
    : `/traces?${new URLSearchParams({ q: wanted }).toString()}`;
}
