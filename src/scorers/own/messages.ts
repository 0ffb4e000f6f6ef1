import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { z } from 'zod';
import { AppError, findCause, readErrorMessage, type ErrorCode } from '../../domain/errors.ts';
import { JudgeError, type JudgeErrorCode } from '../../judge/judge-error.ts';
import type { ModelCall, ModelReply } from '../../judge/model-call.ts';
import type { ScorerMetadata } from '../evals/scorer.ts';

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

/** Longest message of an error that is sent. */
const MAX_MESSAGE_CHARS = 4_000;

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

/** Answer of the host to a judge call. */
export interface HostAnswer {
  readonly reply?: ModelReply;
  readonly fault?: SentError;
}

export type ToWorker =
  | LoadMessage
  | { readonly type: 'runs'; readonly runs: readonly RunOrder[] }
  | { readonly type: 'cancel'; readonly run: number }
  | ({ readonly type: 'answer'; readonly call: number } & HostAnswer);

/** A judge call that the host makes for the process. */
export interface ForwardedQuestion extends Omit<ModelCall, 'signal'> {
  /** `provider/model`. */
  readonly model: string;
  /** Name of the scorer step. */
  readonly step: string;
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

const run = z.int();
const call = z.int();
const facts = z.looseObject({ id: z.string(), moduleHash: z.string() }).refine(hasJson);
const fault = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retryAfterMs: z.number().optional(),
  judge: z.object({ kind: z.string(), notBeforeMs: z.unknown() }).optional(),
});
const question = z.looseObject({
  model: z.string(),
  step: z.string(),
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), text: z.string() })),
  temperature: z.number().optional(),
  maxOutputTokens: z.number().optional(),
  responseSchema: z.object({ jsonSchema: z.looseObject({}), strict: z.boolean() }).optional(),
});

/**
 * Message from a process to its host. Only the run that has the turn executes code. `turn` is delivered before that code
 * begins, so that the host knows which run was active when the process hung or died, and can measure the time of each run.
 */
const fromWorker = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded'), facts: facts as unknown as z.ZodType<DeclaredFacts> }),
  z.object({ type: z.literal('unloadable'), message: z.string() }),
  z.object({ type: z.literal('turn'), run }),
  /** The run waits for a judge and has released its turn. */
  z.object({ type: z.literal('waits'), run }),
  z.object({
    type: z.literal('ask'),
    run,
    call,
    question: question as unknown as z.ZodType<ForwardedQuestion>,
  }),
  /** The scorer could use the reply: the host may keep it for an equal question. */
  z.object({ type: z.literal('remember'), run, call }),
  /** The scorer stopped waiting for a reply. */
  z.object({ type: z.literal('withdraw'), run, call }),
  /** The serialized result is absent when the run failed. */
  z.object({
    type: z.literal('ended'),
    run,
    result: z.instanceof(Uint8Array).optional(),
    fault: (fault as unknown as z.ZodType<SentError>).optional(),
  }),
]);
export type FromWorker = z.infer<typeof fromWorker>;

/** Reads a message from the process of an own scorer, whose code may send anything. Undefined for another message. */
export function readWorkerMessage(message: unknown): FromWorker | undefined {
  return fromWorker.safeParse(message).data;
}

function hasJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

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
  maxBytes: number,
  onMessage: (message: unknown) => void,
  onGarbage: () => void,
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
      if (needed > maxBytes || (isBody && message === undefined)) {
        channel.off('data', read).resume();
        chunks = [];
        onGarbage();
        return;
      }
      if (message !== undefined) {
        onMessage(message.value);
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

/** Describes any thrown value. The code comes from the first `AppError` in the chain of causes. */
export function readFault(thrown: unknown): SentError {
  const known = findCause(thrown, AppError);
  const judge = findCause(thrown, JudgeError);
  return {
    code: known?.code ?? 'scorer_failed',
    message: describe(known ?? thrown).slice(0, MAX_MESSAGE_CHARS),
    retryable: known?.retryable ?? false,
    retryAfterMs: known?.retryAfterMs,
    judge:
      judge === null || judge.code !== known?.code
        ? undefined
        : { kind: judge.kind, notBeforeMs: judge.details['notBeforeMs'] },
  };
}

/** Describes a thrown value; it may have no text at all, or throw when it is read. */
function describe(thrown: unknown): string {
  try {
    return readErrorMessage(thrown);
  } catch {
    return 'an error that cannot be read';
  }
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

/** Turns of the runs in one process: only the run that has the turn may execute code. */
export class Turns {
  readonly #announce: (run: number) => Promise<void>;
  readonly #waiting: { readonly run: number; readonly go: () => void }[] = [];
  #holder: number | null = null;

  /** `announce` is awaited before a run gets the turn. */
  constructor(announce: (run: number) => Promise<void>) {
    this.#announce = announce;
  }

  /** Resolves when the run has the turn. A run that returns from a judge call goes before runs that have not begun. */
  take(taker: number, isResumed = false): Promise<void> {
    if (this.#holder === taker) {
      return Promise.resolve();
    }
    return new Promise((go) => {
      this.#waiting.splice(isResumed ? 0 : this.#waiting.length, 0, { run: taker, go });
      void this.#next();
    });
  }

  /** True while the run has the turn. */
  holds(holder: number): boolean {
    return this.#holder === holder;
  }

  /** Releases the turn; does nothing for a run without the turn. */
  release(holder: number): void {
    if (this.#holder === holder) {
      this.#holder = null;
      void this.#next();
    }
  }

  async #next(): Promise<void> {
    const turn = this.#holder === null ? this.#waiting.shift() : undefined;
    if (turn !== undefined) {
      this.#holder = turn.run;
      await this.#announce(turn.run);
      turn.go();
    }
  }
}
