import { z } from '@hono/zod-openapi';
import { DAY_MS, LAST_MOMENT_MS } from '../../domain/durations.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { parseJson } from '../../domain/unknown-values.ts';
import type { Listed, ListFilters, ListKey, ListPage } from '../../store/contracts/lists.ts';
import { describeJson, describeRoute } from '../router.ts';
import { readFilters, type FilterQuery } from './fields.ts';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 50;

/** Time ahead of the store's clock up to which lists reach: a clock may be in a wrong zone, and a start in 2262 would always be first. */
const MAX_AHEAD_MS = DAY_MS;

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

/** Content of a cursor: the name of its list, and the key of the last item. Its time is one that a column of the store holds. */
const Cursor = z.tuple([z.string(), z.int().min(-LAST_MOMENT_MS).max(LAST_MOMENT_MS), z.string()]);

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
  return describeRoute('get', path, {
    tag,
    summary,
    request: { query: z.strictObject(CURSOR_FIELDS) },
    replies: { 200: describeJson(`A page of ${items}.`, describePage(item)) },
  });
}

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * Creates the reader of the requests of a list and the writer of its replies. The cursors hold the name of the list: no other list takes
 * them.
 */
export function createList(name: string) {
  return {
    /** Reads the filters and the page that a request asks for. Throws an `InvalidInputError` for values that cannot be read. */
    readQuery: (
      { limit, cursor, ...query }: FilterQuery & PageQuery,
      nowMs: number,
    ): { readonly filters: Omit<ListFilters, 'tenant'>; readonly page: ListPage } => {
      const { untilMs = nowMs + MAX_AHEAD_MS, ...filters } = readFilters(query, nowMs);
      const page = cursor === undefined ? { limit } : { limit, after: readCursor(name, cursor) };
      return { filters: { ...filters, untilMs }, page };
    },
    toReply: <Item, Json>({ items, next }: Listed<Item>, toJson: (item: Item) => Json) => ({
      items: items.map(toJson),
      next: next === null ? null : writeCursor(name, next),
    }),
  };
}

function writeCursor(list: string, { atMs, id }: ListKey): string {
  const content: z.output<typeof Cursor> = [list, atMs, id];
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

function readCursor(list: string, cursor: string): ListKey {
  const { data } = Cursor.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  const [name, atMs = 0, id = ''] = data ?? [];
  if (name !== list) {
    throw new InvalidInputError('cursor: must be `next` of a previous reply of this list');
  }
  return { atMs, id };
}

/** Refuses the cursor of a request in an order that has one page only. Throws an `InvalidInputError`. */
export function refuseCursor(order: string, { cursor }: Pick<PageQuery, 'cursor'>): void {
  if (cursor !== undefined) {
    throw new InvalidInputError(
      `cursor: order=${order} has one page only; leave out the cursor, and set limit (at most ${MAX_LIMIT})`,
    );
  }
}
