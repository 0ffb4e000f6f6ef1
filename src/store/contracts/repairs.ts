import type { Decision } from '../../domain/decision.ts';

/** Current decisions of live rules that a repair looks at. Times are Unix milliseconds, by the store's clock. */
export interface RepairQuery {
  readonly status: 'failed' | 'scored';
  /** Absent: every scorer, and decisions on whole rules. */
  readonly scorer?: string | undefined;
  /** Only targets whose last span arrived at or after this time. */
  readonly sinceMs: number;
  /** True: decisions on sessions. False: decisions on traces and their parts. */
  readonly ofSessions: boolean;
  /** Key of the hashes that order the traces and sessions, 16 bytes in hex: so no place is an id. */
  readonly orderKey: string;
  /** Place after which the search continues; null: from the beginning. */
  readonly after: string | null;
}

/** Decisions of the next traces or sessions. */
export interface RepairPage {
  readonly decisions: readonly Decision[];
  /** Place after this page; null after the last one. */
  readonly after: string | null;
}

/** Finds the work of repairs. */
export interface RepairStore {
  /** Reads the decisions of the next traces or sessions; at most `limit` traces or sessions. */
  read(query: RepairQuery, limit: number): Promise<RepairPage>;
  /** Counts the decisions after the place of the query. */
  count(query: RepairQuery): Promise<number>;
}
