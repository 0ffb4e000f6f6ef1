import type { Listed, ListKey, ListPage } from '../contracts/lists.ts';
import { cutPage, type Keyed } from './keyset-page.ts';

/** Most rounds of one page. A page of a rare filter then has fewer items, and a cursor. */
const MAX_ROUNDS = 12;

/** Most candidates of one round. */
const MAX_CANDIDATES = 4_000;

/** Candidates beyond the limit of a page: some are out of date. */
const SPARE = 20;

/** Settings of a query on candidates: it stops after few rows of each part, not after a whole block of 65,000. */
export const SMALL_BLOCKS = 'SETTINGS max_block_size = 2048';

/** Leaves out repeated candidates: a row that is not merged yet comes more than once. */
export function leaveOutRepeats<Candidate>(
  rows: readonly Candidate[],
  nameOf: (row: Candidate) => string,
): Candidate[] {
  return [...new Map(rows.map((row) => [nameOf(row), row])).values()];
}

/** Candidates in the order of the list. `next` is the key of the last one; null at the end of the list. */
export interface Candidates<Candidate> {
  readonly found: readonly Candidate[];
  readonly next: ListKey | null;
}

/** Source of a list: a table in its order, whose rows may be out of date, and a look-up of the current items. */
export interface ScanSource<Candidate, Item> {
  readCandidates(after: ListKey | undefined, limit: number): Promise<Candidates<Candidate>>;
  /** Returns the current items among candidates, in their order. */
  resolve(candidates: readonly Candidate[]): Promise<readonly Keyed<Item>[]>;
}

/** Reads a page: candidates in growing rounds until the page is full, or the list or the rounds end. */
export async function scanPage<Candidate, Item>(
  source: ScanSource<Candidate, Item>,
  { limit, after }: ListPage,
): Promise<Listed<Item>> {
  const items: Keyed<Item>[] = [];
  let position = after;
  let size = limit + SPARE;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { found, next } = await source.readCandidates(position, size);
    items.push(...(found.length === 0 ? [] : await source.resolve(found)));
    if (items.length > limit || next === null) {
      break;
    }
    position = next;
    size = Math.min(size * 2, MAX_CANDIDATES);
    if (round === MAX_ROUNDS - 1) {
      return { items: items.map(({ item }) => item), next };
    }
  }
  return cutPage(items, limit);
}
