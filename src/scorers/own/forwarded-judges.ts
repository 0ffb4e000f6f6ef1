import { JudgeError } from '../../judge/judge-error.ts';
import { createJudgeRegistry, type JudgeRegistry } from '../../judge/judge-registry.ts';
import type { JudgeScope } from '../../judge/judge-scope.ts';
import type { JudgeModelObject, ModelCall, ModelReply } from '../../judge/model-call.ts';
import { createFaultError, type ForwardedQuestion, type FromWorker, type SentError } from './messages.ts';

/** Turns of the runs in one process: only the run that has the turn may execute code. */
interface Turns {
  /** Resolves when the run has the turn. A run that returns from a judge call goes before runs that have not begun. */
  take(run: number, isResumed?: boolean): Promise<void>;
  /** True while the run has the turn. */
  holds(run: number): boolean;
  /** Releases the turn; does nothing for a run without the turn. */
  release(run: number): void;
}

/** Creates the turns of a process. `announce` is awaited before a run gets the turn. */
export function createTurns(announce: (run: number) => Promise<void>): Turns {
  const waiting: { readonly run: number; readonly go: () => void }[] = [];
  let holder: number | null = null;

  async function next(): Promise<void> {
    const turn = holder === null ? waiting.shift() : undefined;
    if (turn !== undefined) {
      holder = turn.run;
      await announce(turn.run);
      turn.go();
    }
  }

  return {
    take(run, isResumed = false) {
      if (holder === run) {
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const turn = { run, go: resolve };
        if (isResumed) {
          waiting.unshift(turn);
        } else {
          waiting.push(turn);
        }
        void next();
      });
    },
    holds: (run) => holder === run,
    release(run) {
      if (holder === run) {
        holder = null;
        void next();
      }
    },
  };
}

/** Most judge calls of one run; it ends a scorer that asks in an endless loop. */
const MAX_CALLS = 200;

/**
 * Longest wait for an answer of the host. The host limits each call and its repeats; this limit only ends a call that the host
 * has lost.
 */
const ANSWER_WITHIN_MS = 15 * 60_000;

/** Sends a message from the process to its host. */
export type Tell = (message: FromWorker) => Promise<void>;

interface ForwardedJudgesOptions {
  readonly judge: string | undefined;
  readonly defaultJudge: string | undefined;
  readonly lane: Turns;
  readonly tell: Tell;
}

/** Answer of the host to a call. */
interface HostAnswer {
  readonly reply?: ModelReply;
  readonly fault?: SentError;
}

interface OpenCall {
  readonly run: number;
  readonly settle: (answer: HostAnswer) => void;
}

/** Judge calls of one run. */
interface RunCalls {
  readonly run: number;
  made: number;
  open: number;
  /** Id of the call by the text of its reply. */
  readonly byReply: Map<string, number>;
}

/** Judges for the runs of an own scorer: every question to `provider/model` is sent to the host. */
export class ForwardedJudges {
  readonly #options: ForwardedJudgesOptions;
  readonly #base: JudgeRegistry;
  readonly #open = new Map<number, OpenCall>();
  #lastCall = 0;

  constructor(options: ForwardedJudgesOptions) {
    this.#options = options;
    this.#base = createJudgeRegistry({
      default: options.judge ?? options.defaultJudge,
      limits: { timeoutMs: ANSWER_WITHIN_MS },
    });
  }

  /** Builds the judge scope for the questions of one run. */
  buildScope(run: number): JudgeScope {
    const calls: RunCalls = { run, made: 0, open: 0, byReply: new Map() };
    return {
      judges: this.#openRegistry(calls),
      // The host redacts the text before it sends it to the provider.
      redactor: false,
      cache: {
        get: () => undefined,
        set: (_key, { text }) => {
          const call = calls.byReply.get(text);
          if (call !== undefined) {
            void this.#options.tell({ type: 'remember', run, call });
          }
        },
        inFlight: new Map(),
      },
    };
  }

  /** Drops the open calls of a run that has ended. */
  forget(run: number): void {
    [...this.#open].filter(([, each]) => each.run === run).forEach(([call]) => this.#open.delete(call));
  }

  /** Passes the host's answer on to the call. */
  async answer(call: number, answer: HostAnswer): Promise<void> {
    const { lane } = this.#options;
    const waiting = this.#open.get(call);
    if (waiting === undefined) {
      return;
    }
    await lane.take(waiting.run, true);
    if (this.#open.delete(call)) {
      waiting.settle(answer);
    } else {
      lane.release(waiting.run);
    }
  }

  #openRegistry(calls: RunCalls): JudgeRegistry {
    return {
      ...this.#base,
      resolve: async (model, step = '') => {
        if (typeof model !== 'string') {
          // A model object from the module is called from this process, with its own key.
          return this.#base.resolve(model);
        }
        const name = this.#options.judge ?? model;
        const [provider = ''] = name.split('/', 1);
        const send: Send = (question, signal) => this.#ask(calls, { ...question, model: name, step }, signal);
        return {
          name,
          provider,
          options: {},
          timeoutMs: ANSWER_WITHIN_MS,
          model: forwardedModel(name, provider, send),
        };
      },
    };
  }

  /** Asks the host. The run releases its turn while it waits. */
  async #ask(calls: RunCalls, question: ForwardedQuestion, signal?: AbortSignal): Promise<ModelReply> {
    const { tell } = this.#options;
    const { run } = calls;
    calls.made += 1;
    if (calls.made > MAX_CALLS) {
      throw new JudgeError('judge_misconfigured', `one run asked its judge more than ${MAX_CALLS} times`);
    }
    const call = (this.#lastCall += 1);
    const answered = Promise.withResolvers<HostAnswer>();
    this.#open.set(call, { run, settle: answered.resolve });
    calls.open += 1;
    signal?.addEventListener('abort', () => void tell({ type: 'withdraw', run, call }), { once: true });
    void tell({ type: 'ask', run, call, question });
    this.#releaseTurn(run);
    const { reply, fault } = await answered.promise;
    calls.open -= 1;
    if (calls.open > 0) {
      // The run continues with this answer first; if it has further open calls, it then releases its turn.
      setImmediate(() => calls.open > 0 && this.#releaseTurn(run));
    }
    if (reply === undefined) {
      throw createFaultError(fault as SentError);
    }
    calls.byReply.set(reply.text, call);
    return reply;
  }

  #releaseTurn(run: number): void {
    const { lane, tell } = this.#options;
    if (lane.holds(run)) {
      void tell({ type: 'waits', run });
      lane.release(run);
    }
  }
}

/** Options that `callModel` passes to a model object. */
interface CallOptions {
  readonly prompt: readonly {
    readonly role: 'system' | 'user' | 'assistant';
    readonly content: string | readonly { readonly text: string }[];
  }[];
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  readonly responseFormat?: { readonly schema: object };
  readonly providerOptions?: object;
  readonly abortSignal?: AbortSignal;
}

type Send = (question: Omit<ModelCall, 'signal'>, signal?: AbortSignal) => Promise<ModelReply>;

function forwardedModel(name: string, provider: string, send: Send): JudgeModelObject {
  return {
    provider,
    modelId: name.slice(provider.length + 1),
    async doGenerate(given: never) {
      const options = given as CallOptions;
      const { text, modelId, isThought, ...reply } = await send(
        {
          messages: options.prompt.map(({ role, content }) => ({
            role,
            text: typeof content === 'string' ? content : content.map((part) => part.text).join(''),
          })),
          temperature: options.temperature,
          maxOutputTokens: options.maxOutputTokens,
          responseSchema:
            options.responseFormat === undefined
              ? undefined
              : {
                  jsonSchema: options.responseFormat.schema,
                  strict: options.providerOptions === undefined,
                },
        },
        options.abortSignal,
      );
      const type = isThought === true ? 'reasoning' : 'text';
      return { ...reply, content: [{ type, text }], response: { modelId } };
    },
  };
}
