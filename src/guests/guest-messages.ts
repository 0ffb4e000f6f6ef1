import { z } from 'zod';
import type { ScorerMetadata } from '../evals/scorer.ts';
import type { ModelCall, ModelReply } from '../judge/model-call.ts';
import type { GuestFault } from './guest-fault.ts';

/** Facts that the default export of a module declares; the others are absent. */
export interface GuestFacts extends Partial<ScorerMetadata> {
  readonly id: string;
  /** Hash of the module's file, so that a later process never runs different code under the same version. */
  readonly moduleHash: string;
}

/** First message to a process. */
export interface LoadMessage {
  readonly type: 'load';
  /** Name of the scorer in the configuration: the id of a scorer without one. */
  readonly name: string;
  /** Absolute path of the module. */
  readonly path: string;
  /** Judge of every question that names a judge by `provider/model`. Absent: the judge that the scorer names. */
  readonly judge: string | undefined;
  /** Judge of a scorer that names none. */
  readonly defaultJudge: string | undefined;
}

/** One run to score. The input is serialized, so that it is parsed only when the run gets its turn. */
export interface RunOrder {
  readonly run: number;
  readonly input: Uint8Array;
}

/** A judge call that the host makes for the process. */
export interface GuestQuestion extends Omit<ModelCall, 'signal'> {
  /** `provider/model`. */
  readonly model: string;
  /** Name of the scorer step. */
  readonly step: string;
}

export type ToGuest =
  | LoadMessage
  | { readonly type: 'runs'; readonly runs: readonly RunOrder[] }
  | { readonly type: 'cancel'; readonly run: number }
  | {
      readonly type: 'answer';
      readonly call: number;
      readonly reply?: ModelReply;
      readonly fault?: GuestFault;
    };

/**
 * Message from a process to its host. Only the run that has the turn executes code. `turn` is delivered before that code
 * begins, so that the host knows which run was active when the process hung or died, and can measure the time of each run.
 */
export type FromGuest =
  | { readonly type: 'loaded'; readonly facts: GuestFacts }
  | { readonly type: 'unloadable'; readonly message: string }
  | { readonly type: 'turn'; readonly run: number }
  /** The run waits for a judge and has released its turn. */
  | { readonly type: 'waits'; readonly run: number }
  | { readonly type: 'ask'; readonly run: number; readonly call: number; readonly question: GuestQuestion }
  /** The scorer could use the reply: the host may keep it for an equal question. */
  | { readonly type: 'remember'; readonly run: number; readonly call: number }
  /** The scorer stopped waiting for a reply. */
  | { readonly type: 'withdraw'; readonly run: number; readonly call: number }
  | {
      readonly type: 'ended';
      readonly run: number;
      /** Serialized result; absent when the run failed. */
      readonly result?: Uint8Array;
      readonly fault?: GuestFault;
    };

const run = z.int();
const call = z.int();
const fault = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retryAfterMs: z.number().optional(),
  judge: z.object({ kind: z.string(), notBeforeMs: z.unknown() }).optional(),
});
const facts = z.looseObject({ id: z.string(), moduleHash: z.string() }).refine(hasJson);
const question = z.looseObject({
  model: z.string(),
  step: z.string(),
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), text: z.string() })),
  temperature: z.number().optional(),
  maxOutputTokens: z.number().optional(),
  responseSchema: z.object({ jsonSchema: z.looseObject({}), strict: z.boolean() }).optional(),
});

const fromGuest = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded'), facts }),
  z.object({ type: z.literal('unloadable'), message: z.string() }),
  z.object({ type: z.literal('turn'), run }),
  z.object({ type: z.literal('waits'), run }),
  z.object({ type: z.literal('ask'), run, call, question }),
  z.object({ type: z.literal('remember'), run, call }),
  z.object({ type: z.literal('withdraw'), run, call }),
  z.object({
    type: z.literal('ended'),
    run,
    result: z.instanceof(Uint8Array).optional(),
    fault: fault.optional(),
  }),
]);

/** Reads a message from the process of an own scorer, whose code may send anything. Undefined for another message. */
export function readGuestMessage(message: unknown): FromGuest | undefined {
  return fromGuest.safeParse(message).data as FromGuest | undefined;
}

function hasJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
