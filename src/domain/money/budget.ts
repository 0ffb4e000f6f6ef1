import { DAY_MS } from '../durations.ts';

/** Most money that judge calls may cost, USD. An absent limit does not apply. */
export interface BudgetCaps {
  /** Per UTC day. */
  readonly perDay?: number | undefined;
  /** Per UTC month. */
  readonly perMonth?: number | undefined;
}

/** Calls that share a budget: those of a rule, those of a tenant, or all calls of the installation. */
export interface BudgetScope {
  readonly kind: 'rule' | 'tenant' | 'total';
  /** Rule or tenant; '' for all calls. */
  readonly name: string;
}

/** Budgets beside those of rules. */
export interface SharedBudgets {
  readonly total?: BudgetCaps | undefined;
  readonly tenants?: Readonly<Record<string, BudgetCaps>> | undefined;
}

export interface ScopedBudget {
  readonly scope: BudgetScope;
  readonly caps: BudgetCaps;
}

export interface BudgetCap {
  readonly scope: BudgetScope;
  readonly period: 'day' | 'month';
  readonly capUsd: number;
}

export interface ScopeRest {
  readonly scope: BudgetScope;
  readonly restUsd: number;
}

export function listCaps({ scope, caps }: ScopedBudget): BudgetCap[] {
  const { perDay, perMonth } = caps;
  return [
    ...(perDay === undefined ? [] : [{ scope, period: 'day', capUsd: perDay } as const]),
    ...(perMonth === undefined ? [] : [{ scope, period: 'month', capUsd: perMonth } as const]),
  ];
}

/** Names a budget in a sentence: `rule production's budget`, `the total budget`. */
export function nameBudget({ kind, name }: BudgetScope): string {
  return kind === 'total' ? 'the total budget' : `${kind} ${name}'s budget`;
}

/** Computes the start of the UTC day of a time, Unix milliseconds. */
export function computeBudgetDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}

/** Computes the next UTC midnight, when budgets of a day are full again, Unix milliseconds. */
export function computeNextBudgetDay(nowMs: number): number {
  return computeBudgetDay(nowMs) + DAY_MS;
}

/** Computes the start of the UTC month of a time, Unix milliseconds. */
export function computeBudgetMonth(nowMs: number): number {
  const time = new Date(nowMs);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth());
}

/** Computes the time at which a cap renews, Unix milliseconds. */
export function computeRenewal(period: BudgetCap['period'], nowMs: number): number {
  if (period === 'day') {
    return computeNextBudgetDay(nowMs);
  }
  const time = new Date(nowMs);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1);
}
