import type { ComputedDecision } from '../json/computed-json.ts';
import { NotFoundError } from '../../domain/errors.ts';
import type { ListFilters } from '../../store/contracts/lists.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';

/** Finds the reasons why rules have no decision on a trace. */
export type ExplainTrace = (key: TraceKey) => Promise<readonly ComputedDecision[]>;

/** Parts that all reads of one caller share. */
export interface Scope {
  /** The only tenant that they see; undefined: all. */
  readonly tenant: string | undefined;
  /** Replaces names of scorers by the names of their rows. */
  readonly namedRows: (filters: ListFilters) => Promise<ListFilters>;
  readonly explain: ExplainTrace;
}

/**
 * Leaves out of reasons what the conditions of a rule want, for a caller of one tenant: they may name customers of others. What was seen
 * in the caller's own trace stays.
 */
export function hideConditions<T extends { readonly reason: string }>(
  rows: readonly T[],
  tenant: string | undefined,
): readonly T[] {
  return tenant === undefined
    ? rows
    : rows.map((row) => ({ ...row, reason: row.reason.replace(UNMET, '$1') }));
}

/** Reason of a condition that is not met (`findUnmetCondition`). */
const UNMET = /^(where: .*?), the rule (?:wants|leaves out) .*$/s;

/**
 * Returns the tenant of a request: the one that it names, else that of its caller; undefined means all. Throws a `NotFoundError` for a
 * tenant that the caller may not see.
 */
export function narrowTenant(own: string | undefined, asked: string | undefined): string | undefined {
  if (own !== undefined && asked !== undefined && asked !== own) {
    throw new NotFoundError(`nothing of the tenant ${asked} is stored`);
  }
  return asked ?? own;
}
