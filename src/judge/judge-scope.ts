import { AsyncLocalStorage } from 'node:async_hooks';
import { createHmac, randomBytes } from 'node:crypto';
import { LruMap } from '../domain/lru-map.ts';
import type { JudgeCall, TokenEstimate } from './judge-execution.ts';
import type { JudgeRegistry } from './judge-registry.ts';
import type { ProviderShare } from './limits.ts';
import type { Redactor } from './redaction/redaction.ts';

/** A call to a judge before it is made. */
export interface PlannedCall {
  /** `provider/model` as configured. */
  readonly model: string;
  /** Name of the scorer step that asks; '' when unknown. */
  readonly step: string;
  /** UTF-8 bytes of the messages without the system message, as the record of the call has them. */
  readonly promptBytes: number;
  /** Tokens, estimated from the messages and the schema. */
  readonly tokens: TokenEstimate;
  /** Cost in USD, estimated from the prompt; undefined for a judge without a price. */
  readonly estimatedUsd: number | undefined;
}

export interface CallReservation {
  /** Awaited just before `beforeCall`, after all waits for limits. Throws an `AppError` to stop the call. Absent: nothing is to be done. */
  readonly begin?: (() => Promise<void>) | undefined;
  /** Books the real cost of the call in USD: 0 when the call was not made, undefined when the provider sent no usage. */
  settle(costUsd: number | undefined): void;
}

/** Settings that the serving side adds to every question inside the scope; library code has none. */
export interface JudgeScope {
  /** Redacts everything that is sent. False: everything is sent unredacted. Absent: the default redaction. */
  readonly redactor?: Redactor | false | undefined;
  /** Called after every model call, also after a failed one. If it throws, the question fails with that error. */
  readonly onCall?: ((call: JudgeCall) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each model call, before money is reserved. If it throws, no call is made and the question fails with that error. */
  readonly onPlan?: ((call: PlannedCall) => void) | undefined;
  /** Reserves money before each model call. Throws an `AppError` to stop the call. */
  readonly reserve?: ((call: PlannedCall) => Promise<CallReservation>) | undefined;
  /** Awaited just before each model call, to check the lease. Throws an `AppError` to stop the call. */
  readonly beforeCall?: (() => Promise<void>) | undefined;
  /**
   * Shares answers between questions; equal questions at the same time make one call. Absent: every question makes its own
   * call.
   */
  readonly cache?: ReplyCache | undefined;
  /** Computes the code on the marker lines around the data of a prompt, the same for all questions about a target. The cache ignores it. */
  readonly fenceCode?: (() => string) | undefined;
  /** Called with the name of the judge when its earlier answer replaces a call. */
  readonly onReuse?: ((judge: string) => void) | undefined;
  /** Part of the limits of each provider that these questions use. Absent: the whole. */
  readonly share?: ProviderShare | undefined;
  /** Registry of providers, prices and limits; absent: the registry of `configureJudges`. */
  readonly judges?: JudgeRegistry | undefined;
}

const scopes = new AsyncLocalStorage<JudgeScope>();

/**
 * Runs `fn` with these settings for every question asked inside it, across awaits. Settings of an inner scope override those of
 * an outer scope.
 */
export function withJudgeScope<T>(scope: JudgeScope, fn: () => T): T {
  return scopes.run({ ...scopes.getStore(), ...scope }, fn);
}

/** Returns the scope of the current call; it is empty outside `withJudgeScope`. */
export function currentJudgeScope(): JudgeScope {
  return scopes.getStore() ?? {};
}

const CODE_LETTERS = 12;

/**
 * Letters that replace hex digits. A code with digits could look like a card number; the redaction would replace it by a
 * placeholder that anybody can guess.
 */
const LETTERS = 'ghijklmnopabcdef';

const processSecret = randomBytes(32).toString('hex');

/** Computes the code on the marker lines around data: a keyed hash that nobody outside this process can compute. */
export function computeFenceCode(value: string): string {
  const hash = createHmac('sha256', processSecret).update(value).digest('hex').slice(0, CODE_LETTERS);
  return hash.replace(/[0-9a-f]/g, (digit) => LETTERS.charAt(Number.parseInt(digit, 16)));
}

interface CachedReply {
  readonly text: string;
  readonly modelId: string | undefined;
}

/** Usable answers by question, and the questions whose call is running. */
export interface ReplyCache {
  get(key: string): CachedReply | undefined;
  set(key: string, reply: CachedReply): void;
  readonly inFlight: Map<string, Promise<void>>;
}

/** Creates a cache that keeps at most `maxEntries` answers with together at most `maxChars` characters. */
export function createReplyCache({ maxEntries, maxChars }: { maxEntries: number; maxChars: number }) {
  const replies = new LruMap<CachedReply>({ maxEntries, maxSize: maxChars }, ({ text }) => text.length);
  return Object.assign(replies, { inFlight: new Map<string, Promise<void>>() });
}
