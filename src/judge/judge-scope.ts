import { AsyncLocalStorage } from 'node:async_hooks';
import type { JudgeRegistry } from './judge-registry.ts';
import type { JudgeCall } from './judge-execution.ts';
import type { Redactor } from './redaction/redaction.ts';
import type { ReplyCache } from './reply-cache.ts';

/** A call to a judge that is about to be made. */
export interface PlannedCall {
  /** `provider/model` as configured. */
  readonly model: string;
  /** USD that it will cost, estimated from the prompt; undefined for a judge without a price. */
  readonly estimatedUsd: number | undefined;
}

/** Money put aside for one call. */
export interface CallReservation {
  /** Books the real cost of the call, USD; 0 for a call that was not made. */
  settle(costUsd: number): void;
}

/** Settings that the serving side adds to every question inside it; a library call has none. */
export interface JudgeScope {
  /** Applied to everything that is sent; false: sent as it is. Absent: the default redaction. */
  readonly redactor?: Redactor | false | undefined;
  /** Told of every model call, also of failed ones. A throw of it is a throw of the question. */
  readonly onCall?: ((call: JudgeCall) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Puts money aside before each model call. Throws an `AppError` to stop the call. */
  readonly reserve?: ((call: PlannedCall) => Promise<CallReservation>) | undefined;
  /** Awaited just before each model call: the check of the lease. Throws an `AppError` to stop the call. */
  readonly beforeCall?: (() => Promise<void>) | undefined;
  /** Shares answers and single flight between questions. Absent: every question is asked. */
  readonly cache?: ReplyCache | undefined;
  /** Called with the judge whose earlier answer was used instead of a call. */
  readonly onReuse?: ((judge: string) => void) | undefined;
  /** Providers, prices and limits; absent: those of `configureJudges`. */
  readonly judges?: JudgeRegistry | undefined;
}

const scopes = new AsyncLocalStorage<JudgeScope>();

/** Runs `fn` with these settings for every question asked within, through any number of awaits. Inner members win. */
export function withJudgeScope<T>(scope: JudgeScope, fn: () => T): T {
  return scopes.run({ ...scopes.getStore(), ...scope }, fn);
}

/** The scope of the current call; empty outside `withJudgeScope`. */
export function currentJudgeScope(): JudgeScope {
  return scopes.getStore() ?? {};
}
