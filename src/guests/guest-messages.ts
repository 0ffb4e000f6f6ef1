import type { ScorerMetadata } from '../evals/scorer.ts';
import type { ModelCall, ModelReply } from '../judge/model-call.ts';
import type { GuestFault } from './guest-fault.ts';

/** Facts that a module's default export declares; undeclared ones are absent. */
export interface GuestFacts extends Partial<ScorerMetadata> {
  readonly id: string;
  /** The hash of the module's file, so that a later process never runs other code under the same version. */
  readonly moduleHash: string;
}

/** The first message to a process. */
export interface LoadMessage {
  readonly type: 'load';
  /** Absolute path of the module. */
  readonly path: string;
  /** Answers every question of the scorer that names its judge by `provider/model`. Absent: the judge that the scorer names. */
  readonly judge: string | undefined;
  /** Answers questions of a scorer that names no judge. */
  readonly defaultJudge: string | undefined;
}

/** One run to be scored; the input is serialized, so that it is read only when its turn comes. */
export interface RunOrder {
  readonly run: number;
  readonly input: Uint8Array;
}

/** A call to a judge that the host makes for the guest. */
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
 * At most one run of a process has the turn: only its code runs. `turn` is delivered before that code begins, so that the
 * host knows which run a process hung or died in, and whose time passes.
 */
export type FromGuest =
  | { readonly type: 'loaded'; readonly facts: GuestFacts }
  | { readonly type: 'unloadable'; readonly message: string }
  | { readonly type: 'turn'; readonly run: number }
  /** The run waits for a judge and has given its turn away. */
  | { readonly type: 'waits'; readonly run: number }
  | { readonly type: 'ask'; readonly run: number; readonly call: number; readonly question: GuestQuestion }
  /** The reply could be used: the host may keep it for an equal question. */
  | { readonly type: 'remember'; readonly run: number; readonly call: number }
  /** The scorer gave up waiting for a reply. */
  | { readonly type: 'withdraw'; readonly run: number; readonly call: number }
  | {
      readonly type: 'ended';
      readonly run: number;
      /** Serialized; absent where the run failed. */
      readonly result?: Uint8Array;
      readonly fault?: GuestFault;
    };
