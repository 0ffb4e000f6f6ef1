import { hashValue } from '../domain/identity.ts';
import type { PreparedScorer } from '../scoring/select/rule.ts';

/** Most targets whose prompts are rendered for one scorer of one rule. */
export const MOST_RENDERED = 50;

/** Scorer of a rule. */
export interface PlannedCell {
  /** Name of the rule in this look. */
  readonly rule: string;
  /** Name of the rule for people. */
  readonly title: string;
  readonly scorer: PreparedScorer;
}

/** Cell with the traces or sessions on which it would run. */
export interface SampledCell<Key> extends PlannedCell {
  /** All of them. */
  readonly count: number;
  /** Up to `MOST_RENDERED` of them. */
  readonly sample: ReadonlyMap<string, Key>;
}

interface Entry<Key> {
  readonly hash: string;
  readonly name: string;
  readonly key: Key;
}

interface OpenCell<Key> extends PlannedCell {
  count: number;
  /** In the order of the hashes. */
  entries: Entry<Key>[];
}

/**
 * Counts the work of each cell and keeps a sample of it: the targets with the least hashes. So the samples of all cells share their
 * targets as far as possible, and the same range gives the same sample.
 */
export class PlannedWork<Key> {
  readonly #cells = new Map<string, OpenCell<Key>>();
  #targets = 0;

  /** Number of traces or sessions with work. */
  get targets(): number {
    return this.#targets;
  }

  /** Adds one trace or session. @param name the same for the same target, and for no other one */
  add(key: Key, name: string, cells: readonly PlannedCell[]): void {
    if (cells.length === 0) {
      return;
    }
    this.#targets += 1;
    const entry = { hash: hashValue(['estimate', name]), name, key };
    for (const { rule, title, scorer } of cells) {
      const id = JSON.stringify([rule, scorer.name]);
      const cell = this.#cells.get(id) ?? { rule, title, scorer, count: 0, entries: [] };
      this.#cells.set(id, cell);
      cell.count += 1;
      addEntry(cell, entry);
    }
  }

  list(): SampledCell<Key>[] {
    return [...this.#cells.values()].map(({ rule, title, scorer, count, entries }) => ({
      rule,
      title,
      scorer,
      count,
      sample: new Map(entries.map(({ name, key }) => [name, key])),
    }));
  }
}

function addEntry<Key>(cell: OpenCell<Key>, entry: Entry<Key>): void {
  const last = cell.entries.at(-1);
  if (cell.entries.length >= MOST_RENDERED && last !== undefined && last.hash <= entry.hash) {
    return;
  }
  const place = cell.entries.findIndex(({ hash }) => hash > entry.hash);
  cell.entries.splice(place === -1 ? cell.entries.length : place, 0, entry);
  cell.entries.length = Math.min(cell.entries.length, MOST_RENDERED);
}
