import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { AppError, findCause, readErrorMessage, type ErrorCode } from '../../domain/errors.ts';
import { JudgeError, type JudgeErrorCode } from '../../judge/judge-error.ts';
import { z } from 'zod';
import type { ScorerMetadata } from '../evals/scorer.ts';
import type { ModelCall, ModelReply } from '../../judge/model-call.ts';

/** File descriptor on which a worker process and its host exchange messages. */
export const MESSAGE_FD = 3;

/** File descriptor on which a worker process reports its memory when it exceeds its limit. */
export const WATCH_FD = 4;

/** Beginning of the last line that a process prints when its code threw an exception outside of any handler. */
export const UNCAUGHT = 'an exception that nobody caught';

/** Priority of a worker process: below receivers and engine, so that it takes no processor time from them. */
export const WORKER_NICE = 10;

/** Bytes of the length before each message. */
const LENGTH_BYTES = 4;

/** Writes a message: its length, then its serialized value. Calls back when the system has taken it, or never will. */
export function writeFrame(channel: Socket, message: unknown, whenDone?: () => void): void {
  const body = serialize(message);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(body.length);
  channel.cork();
  channel.write(length);
  channel.write(body, whenDone);
  channel.uncork();
}

/**
 * Reads messages. The code of a scorer can write any bytes to its descriptor. So bytes that are no message, and a message above the
 * limit, end the reading: `onGarbage` is called, and what follows is dropped.
 */
export function readFrames(
  channel: Socket,
  terms: {
    readonly maxBytes: number;
    readonly onMessage: (message: unknown) => void;
    readonly onGarbage: () => void;
  },
): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let needed = LENGTH_BYTES;
  let isBody = false;
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes >= needed) {
      const all = Buffer.concat(chunks, bytes);
      const part = all.subarray(0, needed);
      chunks = [all.subarray(needed)];
      bytes -= needed;
      needed = isBody ? LENGTH_BYTES : part.readUInt32BE();
      const message = isBody ? deserializeSafely(part) : undefined;
      if (needed > terms.maxBytes || (isBody && message === undefined)) {
        channel.off('data', read).resume();
        chunks = [];
        terms.onGarbage();
        return;
      }
      if (message !== undefined) {
        terms.onMessage(message.value);
      }
      isBody = !isBody;
    }
  };
  channel.on('data', read);
}

function deserializeSafely(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: deserialize(bytes) };
  } catch {
    return undefined;
  }
}

/** An error in the form in which one process sends it to another. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** Present for a failure of a judge: the kind under which it is counted, and the earliest time of a retry. */
  readonly judge: { readonly kind: string; readonly notBeforeMs: unknown } | undefined;
}

/** Longest message of an error that is sent. */
const MAX_MESSAGE_CHARS = 4_000;

/** Describes any thrown value. The code comes from the first `AppError` in the chain of causes. */
export function readFault(thrown: unknown): SentError {
  const known = findCause(thrown, AppError);
  const judges = findCause(thrown, JudgeError);
  const message = describe(known ?? thrown).slice(0, MAX_MESSAGE_CHARS);
  return {
    code: known?.code ?? 'scorer_failed',
    message,
    retryable: known?.retryable ?? false,
    retryAfterMs: known?.retryAfterMs,
    judge:
      judges === null || judges.code !== known?.code
        ? undefined
        : { kind: judges.kind, notBeforeMs: judges.details['notBeforeMs'] },
  };
}

/** Builds an error from a fault, of the same class as the thrown one. */
export function createFaultError({ code, message, retryable, retryAfterMs, judge }: SentError): AppError {
  return judge === undefined
    ? new AppError(message, { code, stage: 'judge', retryable, retryAfterMs })
    : new JudgeError(code as JudgeErrorCode, message, {
        kind: judge.kind,
        mayPass: retryable,
        retryAfterMs,
        details: { notBeforeMs: judge.notBeforeMs },
      });
}

/** Describes a thrown value; it may have no text at all, or throw when it is read. */
function describe(thrown: unknown): string {
  try {
    return readErrorMessage(thrown);
  } catch {
    return 'an error that cannot be read';
  }
}

/** Facts that the default export of a module declares; the others are absent. */
export interface DeclaredFacts extends Partial<ScorerMetadata> {
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
export interface ForwardedQuestion extends Omit<ModelCall, 'signal'> {
  /** `provider/model`. */
  readonly model: string;
  /** Name of the scorer step. */
  readonly step: string;
}

export type ToWorker =
  | LoadMessage
  | { readonly type: 'runs'; readonly runs: readonly RunOrder[] }
  | { readonly type: 'cancel'; readonly run: number }
  | {
      readonly type: 'answer';
      readonly call: number;
      readonly reply?: ModelReply;
      readonly fault?: SentError;
    };

/**
 * Message from a process to its host. Only the run that has the turn executes code. `turn` is delivered before that code
 * begins, so that the host knows which run was active when the process hung or died, and can measure the time of each run.
 */
export type FromWorker =
  | { readonly type: 'loaded'; readonly facts: DeclaredFacts }
  | { readonly type: 'unloadable'; readonly message: string }
  | { readonly type: 'turn'; readonly run: number }
  /** The run waits for a judge and has released its turn. */
  | { readonly type: 'waits'; readonly run: number }
  | {
      readonly type: 'ask';
      readonly run: number;
      readonly call: number;
      readonly question: ForwardedQuestion;
    }
  /** The scorer could use the reply: the host may keep it for an equal question. */
  | { readonly type: 'remember'; readonly run: number; readonly call: number }
  /** The scorer stopped waiting for a reply. */
  | { readonly type: 'withdraw'; readonly run: number; readonly call: number }
  | {
      readonly type: 'ended';
      readonly run: number;
      /** Serialized result; absent when the run failed. */
      readonly result?: Uint8Array;
      readonly fault?: SentError;
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

const fromWorker = z.discriminatedUnion('type', [
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
export function readWorkerMessage(message: unknown): FromWorker | undefined {
  return fromWorker.safeParse(message).data as FromWorker | undefined;
}

function hasJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
