/** Values of a query; a list repeats its parameter, and undefined leaves it out. So does '', except for a tenant: '' is one. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Writes a path with its parameters and its query: `/traces/{traceId}` and `/traces/:traceId` become `/traces/0af7?limit=5`. */
export function fillPath(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Query = {},
): string {
  const filled = path.replaceAll(
    /:(\w+)|\{(\w+)\}/gu,
    (_, ofPage: string | undefined, ofRoute: string | undefined) => {
      const name = ofPage ?? ofRoute ?? '';
      const value = params[name];
      if (value === undefined) {
        throw new TypeError(`the path ${path} needs ${name}`);
      }
      return encodeURIComponent(value.toWellFormed());
    },
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value)
      ? (value as readonly string[])
      : [value as string | number | undefined]) {
      if (one !== undefined && (one !== '' || name === 'tenant')) {
        search.append(name, String(one));
      }
    }
  }
  return search.size === 0 ? filled : `${filled}?${search.toString()}`;
}
