import { createJudgeRegistry, type JudgeRegistry } from '../judge/judge-registry.ts';
import { JudgeError } from '../judge/judge-error.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import type { JudgeModelObject, ModelCall, ModelReply } from '../judge/model-call.ts';
import { errorOfFault, type GuestFault } from './guest-fault.ts';
import type { GuestLane } from './guest-lane.ts';
import type { FromGuest, GuestQuestion } from './guest-messages.ts';

/** Calls to judges that one run may make: a loop that asks for ever ends. */
const MAX_CALLS = 200;

/** The host bounds each call and its repeats; this only ends a call that the host has lost. */
const ANSWER_WITHIN_MS = 15 * 60_000;

/** Messages of a process to its host. */
export type Tell = (message: FromGuest) => Promise<void>;

interface ForwardedJudgesOptions {
  readonly judge: string | undefined;
  readonly defaultJudge: string | undefined;
  readonly lane: GuestLane;
  readonly tell: Tell;
}

/** The host's answer to a call. */
interface HostAnswer {
  readonly reply?: ModelReply;
  readonly fault?: GuestFault;
}

interface OpenCall {
  readonly run: number;
  readonly settle: (answer: HostAnswer) => void;
}

/** The calls of one run. */
interface RunCalls {
  readonly run: number;
  made: number;
  open: number;
  /** The call that gave a text, by the text. */
  readonly byReply: Map<string, number>;
}

/** The judges of a guest's runs: every question to `provider/model` goes to the host. */
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

  /** The scope of one run's questions. */
  buildScope(run: number): JudgeScope {
    const calls: RunCalls = { run, made: 0, open: 0, byReply: new Map() };
    return {
      judges: this.#openRegistry(calls),
      // The host redacts what leaves.
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

  /** Hands in the host's answer to a call. */
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
          // A model object that the module brought is asked from here, with its own key.
          return this.#base.resolve(model);
        }
        const name = this.#options.judge ?? model;
        const [provider = ''] = name.split('/', 1);
        const send: Send = (question, signal) => this.#ask(calls, { ...question, model: name, step }, signal);
        return { name, provider, model: forwardedModel(name, provider, send) };
      },
    };
  }

  /** Asks the host. The run gives its turn away meanwhile. */
  async #ask(calls: RunCalls, question: GuestQuestion, signal?: AbortSignal): Promise<ModelReply> {
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
    this.#giveTurnAway(run);
    const { reply, fault } = await answered.promise;
    calls.open -= 1;
    if (calls.open > 0) {
      // The run goes on with this answer first, then waits for the others.
      setImmediate(() => calls.open > 0 && this.#giveTurnAway(run));
    }
    if (reply === undefined) {
      throw errorOfFault(fault as GuestFault);
    }
    calls.byReply.set(reply.text, call);
    return reply;
  }

  #giveTurnAway(run: number): void {
    const { lane, tell } = this.#options;
    if (lane.holds(run)) {
      void tell({ type: 'waits', run });
      lane.release(run);
    }
  }
}

/** The options that `callModel` passes to a model object. */
interface CallOptions {
  readonly prompt: readonly {
    readonly role: 'system' | 'user' | 'assistant';
    readonly content: string | readonly { readonly text: string }[];
  }[];
  readonly temperature?: number;
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
      const { text, finishReason, usage, modelId } = await send(
        {
          messages: options.prompt.map(({ role, content }) => ({
            role,
            text: typeof content === 'string' ? content : content.map((part) => part.text).join(''),
          })),
          temperature: options.temperature,
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
      return { content: [{ type: 'text', text }], finishReason, usage, response: { modelId } };
    },
  };
}
