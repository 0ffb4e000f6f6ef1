import type { TraceKey } from '../store/contracts/stores.ts';

/** Right of this process to work on one trace. It is taken before the trace's rows are read. */
export interface Claim {
  readonly key: TraceKey;
  /** Returns true when this process does this scorer of this rule on the trace. */
  owns(rule: string, scorer: string): boolean;
  /**
   * Called before judge calls and before writes. Throws an `AppError` with code `cancelled` when another process may have
   * worked on the trace since the claim was taken. Throws when the store does.
   */
  check(): Promise<void>;
}

/** Source of claims. */
export interface Claims {
  /** Returns null when the trace belongs to other processes. */
  claim(key: TraceKey): Claim | null;
}

/** Claims of a process that no other process disturbs: a command, a backfill. */
export const SOLE_CLAIMS = {
  claim: (key: TraceKey): Claim => ({ key, owns: () => true, check: async () => undefined }),
};
