import { createRoute, z } from '@hono/zod-openapi';
import { InvalidInputError } from '../../domain/errors.ts';
import type { ListFilters, ListKey, Listed, ListPage } from '../../store/contracts/lists.ts';
import { describeJson, PROBLEMS, secureRoute } from '../router.ts';
import { readFilters, type FilterQuery } from './filters.ts';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 50;

/** Parameters of a page of a list. */
export const CURSOR_FIELDS = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_LIMIT)
    .default(DEFAULT_LIMIT)
    .describe('Most items of a page.'),
  cursor: z.string().min(1).max(4_000).optional().describe('`next` of the page before.'),
};

/** Greatest time of a date, Unix milliseconds. */
const MAX_MS = 8.64e15;

const Key = z.tuple([z.int().min(-MAX_MS).max(MAX_MS), z.string()]);

/** Schema of a page of a list. */
export function describePage<Schema extends z.ZodType>(item: Schema) {
  return z.object({ items: z.array(item), next: z.string().nullable().describe('Cursor of the next page.') });
}

/** Items of a list, and the words for them. */
interface ListedItems<Schema extends z.ZodType> {
  readonly item: Schema;
  /** Noun of the items: `mutes`. */
  readonly items: string;
  readonly tag: string;
  readonly summary: string;
}

/** Describes the route of a list without filters. */
export function describeList<Path extends string, Schema extends z.ZodType>(
  path: Path,
  { item, items, tag, summary }: ListedItems<Schema>,
) {
  return createRoute({
    ...secureRoute('read'),
    method: 'get',
    path,
    tags: [tag],
    summary,
    request: { query: z.strictObject(CURSOR_FIELDS) },
    responses: { 200: describeJson(`A page of ${items}.`, describePage(item)), ...PROBLEMS },
  });
}

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

function readPage(limit: number, cursor: string | undefined): ListPage {
  return cursor === undefined ? { limit } : { limit, after: readCursor(cursor) };
}

function readCursor(cursor: string): ListKey {
  const parsed = Key.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!parsed.success) {
    throw new InvalidInputError('cursor: must be `next` of a previous reply of this list');
  }
  const [atMs, id] = parsed.data;
  return { atMs, id };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Reads the filters and the page that a request of a list asks for. Throws an `InvalidInputError` for values that cannot be read. */
export function readListQuery(
  { limit, cursor, ...query }: FilterQuery & PageQuery,
  nowMs: number,
): { readonly filters: Omit<ListFilters, 'tenant'>; readonly page: ListPage } {
  return { filters: readFilters(query, nowMs), page: readPage(limit, cursor) };
}

/** Builds the reply of a list. */
export function listJson<Item, Json>({ items, next }: Listed<Item>, toJson: (item: Item) => Json) {
  return {
    items: items.map(toJson),
    next: next === null ? null : Buffer.from(JSON.stringify([next.atMs, next.id])).toString('base64url'),
  };
}
