import type { ComputedDecision } from '../../api/json/computed-json.ts';
import type { ListFilters } from '../../store/contracts/lists.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';

/** Finds the reasons why rules have no decision on a trace. */
export type ExplainTrace = (key: TraceKey) => Promise<readonly ComputedDecision[]>;

/** Options that all ports of one caller share. */
export interface ScopeOptions {
  /** The only tenant that they see; undefined: all. */
  readonly tenant: string | undefined;
  /** Replaces names of scorers by the names of their rows. */
  readonly namedRows: (filters: ListFilters) => Promise<ListFilters>;
  readonly explain: ExplainTrace;
}
