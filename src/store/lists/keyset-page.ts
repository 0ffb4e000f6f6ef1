import type { Listed, ListKey, ListPage } from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../values.ts';

export interface Keyed<Item> {
  readonly key: ListKey;
  readonly item: Item;
}

/** Cuts items to a page. More items than its limit mean that there is a next page. */
export function cutPage<Item>(items: readonly Keyed<Item>[], limit: number): Listed<Item> {
  const page = items.slice(0, limit);
  return {
    items: page.map(({ item }) => item),
    next: items.length > limit ? (page.at(-1)?.key ?? null) : null,
  };
}

/** Characters of the names of an id: a cursor has to stay short. */
const ID_LENGTH = 300;

/** Returns the SQL of an id made of columns: in the order of their values, and another one for other values. */
export function keyIdOf(columns: string): string {
  const names = `toJSONString(tuple(${columns}))`;
  return `concat(leftUTF8(${names}, ${ID_LENGTH}), hex(sipHash128(${names})))`;
}

/** Columns of the key of a row; `atMs` is 0 in a list without times. */
interface KeyRow {
  readonly atMs: string;
  readonly keyId: string;
}

/** Rows of a list, with `KeyRow` among their columns. */
export interface KeysetSource<Row, Item> {
  readonly sql: string;
  readonly params: QueryParams;
  /** Lists without times are in the order of their ids. */
  readonly order: 'newest' | 'id';
  readonly toItem: (row: Row) => Item;
}

const ORDERS = {
  newest: { after: '(atMs, keyId) < ({afterMs:Int64}, {afterId:String})', by: 'atMs DESC, keyId DESC' },
  id: { after: 'keyId > {afterId:String}', by: 'keyId' },
} as const;

export async function readKeysetPage<Row, Item>(
  database: Database,
  { sql, params, order, toItem }: KeysetSource<Row, Item>,
  { limit, after }: ListPage,
): Promise<Listed<Item>> {
  const rows = await database.rows<Row & KeyRow>(
    `SELECT * FROM (${sql}) ${after === undefined ? '' : `WHERE ${ORDERS[order].after}`}
     ORDER BY ${ORDERS[order].by} LIMIT {rows:UInt32}`,
    {
      ...params,
      rows: limit + 1,
      ...(after === undefined ? {} : { afterMs: after.atMs, afterId: after.id }),
    },
  );
  const keyed = rows.map((row) => ({
    key: { atMs: Number(row.atMs), id: row.keyId },
    item: toItem(row),
  }));
  return cutPage(keyed, limit);
}
