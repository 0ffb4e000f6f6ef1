import type { Query } from './paths/fill-path.ts';

/** Field of a filter form; its name is that of the parameter of the API and of the page's address. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; without them, any text. */
  readonly choices?: readonly string[];
  readonly placeholder?: string;
}

/** Reads the filters of a page's address: the named parameters only, each with its values. */
export function readFilters(
  fields: readonly FilterField[],
  search: URLSearchParams,
): Readonly<Record<string, readonly string[]>> {
  const filters: Record<string, readonly string[]> = {};
  for (const { name } of fields) {
    const values = search.getAll(name).filter((value) => value !== '');
    if (values.length > 0) {
      filters[name] = values;
    }
  }
  return filters;
}

/** Splits the text of a field into values: a comma separates them. */
function splitValues(text: string): string[] {
  return text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** Turns what a form holds into changes of the address. */
export function toQuery(
  fields: readonly FilterField[],
  entries: Iterable<readonly [string, unknown]>,
): Query {
  const texts = new Map([...entries].map(([name, value]) => [name, typeof value === 'string' ? value : '']));
  return Object.fromEntries(fields.map(({ name }) => [name, splitValues(texts.get(name) ?? '')]));
}

/** Ranges of time to choose from, with their texts. */
export const RANGES = ['1h', '24h', '7d', '30d', '90d'] as const;
