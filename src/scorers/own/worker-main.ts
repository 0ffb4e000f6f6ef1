/**
 * The process of an own scorer. It loads the scorer's module at the host's `load` message, runs it, and ends when the host
 * ends.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { pathToFileURL } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { AppError } from '../../domain/errors.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import { createJudgeRegistry, type JudgeRegistry } from '../../judge/judge-registry.ts';
import { withJudgeScope, type JudgeScope } from '../../judge/judge-scope.ts';
import type { JudgeModelObject, ModelReply } from '../../judge/model-call.ts';
import { canonicalOptions } from '../evals/create-scorer.ts';
import type { Scorer, ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import {
  createFaultError,
  MESSAGE_FD,
  readFault,
  readFrames,
  Turns,
  UNCAUGHT,
  WATCH_FD,
  WORKER_NICE,
  writeFrame,
  type DeclaredFacts,
  type ForwardedQuestion,
  type FromWorker,
  type HostAnswer,
  type LoadMessage,
  type RunOrder,
  type SentError,
  type ToWorker,
} from './messages.ts';
import { endGroup, startWatch } from './watch.ts';

const PACKAGE = 'spanscore';

const isSource = import.meta.url.endsWith('.ts');

/** Root of the package: source files and build output are at different depths, `src/scorers/own/` and `dist/src/scorers/own/`. */
const root = new URL(isSource ? '../../../' : '../../../../', import.meta.url);

/** Largest result that is sent to the host, bytes. */
const MAX_RESULT_BYTES = 4 * 1024 * 1024;

/** Most judge calls of one run; it ends a scorer that asks in an endless loop. */
const MAX_CALLS = 200;

/**
 * Longest wait for an answer of the host. The host limits each call and its repeats; this limit only ends a call that the host
 * has lost.
 */
const ANSWER_WITHIN_MS = 15 * 60_000;

const channel = new Socket({ fd: MESSAGE_FD, readable: true, writable: true });
const turns = new Turns((run) => tell({ type: 'turn', run }));
const running = new Map<number, AbortController>();
const busy = new Int32Array(new SharedArrayBuffer(8));
let loaded: { readonly scorer: Scorer; readonly judges: ForwardedJudges } | undefined;

/** Sends a message to the host. */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => writeFrame(channel, message, resolve));
}

/** Counts the runs in progress; the watching thread checks more often while there is work. */
function countWork(change: 1 | -1): void {
  Atomics.add(busy, 0, change);
  Atomics.notify(busy, 0);
}

async function load(order: LoadMessage): Promise<void> {
  countWork(1);
  try {
    const { scorer, facts } = await loadModule(order);
    if (facts.judgeModel !== '') {
      // Loaded now, so that the first run does not wait for it.
      await import('../../judge/judge.ts');
    }
    lowerPriority();
    loaded = { scorer, judges: new ForwardedJudges(order) };
    await tell({ type: 'loaded', facts });
  } catch (error) {
    await tell({ type: 'unloadable', message: readFault(error).message });
  }
  countWork(-1);
}

async function runOne({ run, input }: RunOrder): Promise<void> {
  if (loaded === undefined) {
    return;
  }
  const { scorer, judges } = loaded;
  const cancelling = new AbortController();
  running.set(run, cancelling);
  countWork(1);
  await turns.take(run);
  try {
    const result = await withJudgeScope(judges.buildScope(run), async () =>
      scorer.run(deserialize(input) as ScorerRunInput, { abortSignal: cancelling.signal }),
    );
    await tell({ type: 'ended', run, result: packResult(result) });
  } catch (error) {
    await tell({ type: 'ended', run, fault: readFault(error) });
  }
  judges.forget(run);
  running.delete(run);
  countWork(-1);
  turns.release(run);
}

/** Serializes the members of a result that the host reads; a whole result would repeat the run. */
function packResult(result: ScorerRunResult): ReturnType<typeof serialize> {
  const bytes = serialize(result !== null && typeof result === 'object' ? readMembers(result) : result);
  if (bytes.length > MAX_RESULT_BYTES) {
    const limit = `${MAX_RESULT_BYTES / 1024 / 1024} MiB`;
    throw new AppError(`its result has ${bytes.length} bytes; at most ${limit} are taken`, {
      code: 'scorer_failed',
      stage: 'judge',
      retryable: false,
    });
  }
  return bytes;
}

function readMembers({ score, confidence, reason, label, notScorable, verdicts, scores }: ScorerRunResult) {
  const text = typeof reason === 'string' ? reason : JSON.stringify(reason);
  return { score, confidence, reason: text, label, notScorable, verdicts, scores };
}

function onMessage(message: ToWorker): void {
  switch (message.type) {
    case 'load':
      void load(message);
      return;
    case 'runs':
      message.runs.forEach((order) => void runOne(order));
      return;
    case 'cancel':
      running.get(message.run)?.abort();
      return;
    case 'answer':
      void loaded?.judges.answer(message.call, message);
  }
}

/** Sets the priority of each thread: on Linux every thread has its own, and existing threads keep theirs. */
function lowerPriority(): void {
  try {
    setPriority(WORKER_NICE);
    if (process.platform === 'linux') {
      readdirSync('/proc/self/task').forEach((thread) => setPriority(Number(thread), WORKER_NICE));
    }
  } catch (error) {
    console.error('the priority could not be lowered:', error);
  }
}

/** Tells Linux to end this process first when the machine runs out of memory. */
function reportMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Another system, or a system that does not allow this: the default stays.
  }
}

// The host ends this process. A supervisor may send these signals to each process of a service, so they are ignored here.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => undefined);
}
channel.on('error', endGroup).on('close', endGroup);
process.on('uncaughtException', (error) => {
  console.error(`${UNCAUGHT}:`, error);
  process.exit(1);
});
process.on('unhandledRejection', (error) => {
  console.error('a promise was rejected and nobody handled it:', error);
});
reportMemory();
startWatch({ memoryBytes: Number(process.argv[2]), fd: WATCH_FD, busy });
resolveOwnPackage();
readFrames(channel, Number.POSITIVE_INFINITY, (message) => onMessage(message as ToWorker), endGroup);

/**
 * Resolves every import of `spanscore` in this process to the running package, even when the importing file has no copy beside
 * it. A second copy would not know the judges of this process.
 */
function resolveOwnPackage(): void {
  const entries = readEntries();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isOwn = specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`);
      const url = isOwn ? entries.get(`.${specifier.slice(PACKAGE.length)}`) : undefined;
      return url === undefined
        ? nextResolve(specifier, context)
        : {
            url,
            format: url.endsWith('.json') ? 'json' : isSource ? 'module-typescript' : 'module',
            shortCircuit: true,
          };
    },
  });
}

/** Reads the file of every entry point from the package's `exports`. */
function readEntries(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  return new Map(
    Object.entries(exports).map(([name, entry]) => {
      const built = typeof entry === 'string' ? entry : entry.default;
      const file = isSource ? built.replace('./dist/', './').replace(/\.js$/, '.ts') : built;
      return [name, new URL(file, root).href];
    }),
  );
}

/** Loads the default export of a module. Throws an `Error` with a sentence for people. */
async function loadModule(order: LoadMessage): Promise<{ scorer: Scorer; facts: DeclaredFacts }> {
  const { path } = order;
  const moduleHash = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  const module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  const scorer = module.default;
  if (
    scorer === null ||
    typeof scorer !== 'object' ||
    !('run' in scorer) ||
    typeof scorer.run !== 'function'
  ) {
    throw new Error(`the default export of ${path} must be a scorer: an object with run()`);
  }
  const own = scorer as Scorer;
  const { id = order.name } = scorer as { readonly id?: unknown };
  if (typeof id !== 'string' || id === '') {
    throw new Error(`the id of the scorer of ${path} must be a text that is not empty; or leave it out`);
  }
  return { scorer: own, facts: { ...buildFacts(own, order), id, moduleHash } };
}

/** Reads the members of `ScorerMetadata` that a scorer declares, as plain data. */
function buildFacts(scorer: Scorer, order: LoadMessage): Partial<DeclaredFacts> {
  const judgeModel = findJudgeModel(scorer, order);
  const declared = {
    name: scorer.name,
    description: scorer.description,
    higherIsBetter: scorer.higherIsBetter,
    range: scorer.range,
    labels: scorer.labels,
    version: scorer.version,
    promptVersion: scorer.promptVersion,
    judgeModel,
  };
  const plain = JSON.parse(JSON.stringify(declared)) as Partial<DeclaredFacts>;
  return { ...plain, options: canonicalOptions(scorer.options ?? null) };
}

/** Finds the judge model: the judge of the configuration entry, else the one that the scorer names, else the default judge. */
function findJudgeModel(scorer: Scorer, { judge, defaultJudge, path }: LoadMessage): string | undefined {
  if (!asksJudge(scorer)) {
    return scorer.judgeModel;
  }
  const model = judge ?? (scorer.judgeModel || defaultJudge);
  if (model === undefined) {
    throw new Error(
      `the scorer of ${path} asks a judge and none is set: write the entry's judge, or judges.default`,
    );
  }
  return model;
}

/** True for a scorer that was created with our `createScorer` and has a prompt step, or that declares a judge. */
function asksJudge(scorer: Scorer): boolean {
  if (typeof scorer.judgeModel !== 'string') {
    return false;
  }
  const { getSteps } = scorer as { getSteps?: () => readonly { type: string }[] };
  return scorer.judgeModel !== '' || (getSteps?.().some((step) => step.type === 'prompt') ?? false);
}

interface RunCalls {
  readonly run: number;
  made: number;
  open: number;
  /** Id of the call by the text of its reply. */
  readonly byReply: Map<string, number>;
}

/** Judges for the runs of an own scorer: every question to `provider/model` is sent to the host. */
class ForwardedJudges {
  readonly #judge: string | undefined;
  readonly #base: JudgeRegistry;
  /** Calls without an answer, by id. */
  readonly #open = new Map<number, { readonly run: number; readonly settle: (answer: HostAnswer) => void }>();
  #lastCall = 0;

  constructor({ judge, defaultJudge }: LoadMessage) {
    this.#judge = judge;
    this.#base = createJudgeRegistry({
      default: judge ?? defaultJudge,
      limits: { timeoutMs: ANSWER_WITHIN_MS },
    });
  }

  buildScope(run: number): JudgeScope {
    const calls: RunCalls = { run, made: 0, open: 0, byReply: new Map() };
    return {
      judges: { ...this.#base, resolve: (model, step = '') => this.#resolve(calls, model, step) },
      // The host redacts the text before it sends it to the provider.
      redactor: false,
      cache: {
        get: () => undefined,
        set: (_key, { text }) => {
          const call = calls.byReply.get(text);
          if (call !== undefined) {
            void tell({ type: 'remember', run, call });
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
    const waiting = this.#open.get(call);
    if (waiting === undefined) {
      return;
    }
    await turns.take(waiting.run, true);
    if (this.#open.delete(call)) {
      waiting.settle(answer);
    } else {
      turns.release(waiting.run);
    }
  }

  /** Resolves a judge. A model object from the module is called from this process, with its own key. */
  async #resolve(
    calls: RunCalls,
    model: Parameters<JudgeRegistry['resolve']>[0],
    step: string,
  ): ReturnType<JudgeRegistry['resolve']> {
    if (typeof model !== 'string') {
      return this.#base.resolve(model);
    }
    const name = this.#judge ?? model;
    const [provider = ''] = name.split('/', 1);
    const doGenerate = async (given: never) => {
      const options = given as CallOptions;
      const question = { ...readQuestion(options), model: name, step };
      const { text, modelId, isThought, ...reply } = await this.#ask(calls, question, options.abortSignal);
      const type = isThought === true ? 'reasoning' : 'text';
      return { ...reply, content: [{ type, text }], response: { modelId } };
    };
    const forwarded: JudgeModelObject = { provider, modelId: name.slice(provider.length + 1), doGenerate };
    return { name, provider, options: {}, timeoutMs: ANSWER_WITHIN_MS, model: forwarded };
  }

  /** Asks the host. The run releases its turn while it waits. */
  async #ask(calls: RunCalls, question: ForwardedQuestion, signal?: AbortSignal): Promise<ModelReply> {
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
    releaseTurn(run);
    const { reply, fault } = await answered.promise;
    calls.open -= 1;
    if (calls.open > 0) {
      // The run continues with this answer first; if it has further open calls, it then releases its turn.
      setImmediate(() => calls.open > 0 && releaseTurn(run));
    }
    if (reply === undefined) {
      throw createFaultError(fault as SentError);
    }
    calls.byReply.set(reply.text, call);
    return reply;
  }
}

function releaseTurn(run: number): void {
  if (turns.holds(run)) {
    void tell({ type: 'waits', run });
    turns.release(run);
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

function readQuestion({
  prompt,
  temperature,
  maxOutputTokens,
  responseFormat,
  providerOptions,
}: CallOptions): Omit<ForwardedQuestion, 'model' | 'step'> {
  return {
    messages: prompt.map(({ role, content }) => ({
      role,
      text: typeof content === 'string' ? content : content.map((part) => part.text).join(''),
    })),
    temperature,
    maxOutputTokens,
    responseSchema:
      responseFormat === undefined
        ? undefined
        : { jsonSchema: responseFormat.schema, strict: providerOptions === undefined },
  };
}
