import { deserialize, serialize } from 'node:v8';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { hashValue } from '../../domain/identity.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import { configuredJudges } from '../../judge/judge-registry.ts';
import type { JudgeScope } from '../../judge/judge-scope.ts';
import { QuestionTally } from '../../judge/judge-call.ts';
import type { ModelReply } from '../../judge/model-call.ts';
import { defaultRedactor } from '../../judge/redaction/redaction.ts';
import { callRepeatedly } from '../../judge/retry.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import {
  createFaultError,
  readFault,
  readWorkerMessage,
  type DeclaredFacts,
  type ForwardedQuestion,
  type FromWorker,
} from './messages.ts';
import { WorkerProcess, type ProcessExit } from './process.ts';

/** An own scorer as the configuration describes it. */
export interface OwnScorerSpec {
  /** Name of the scorer in the configuration. */
  readonly name: string;
  /** Absolute path of the module. */
  readonly path: string;
  /** Judge of the scorer in the configuration. */
  readonly judge: string | undefined;
  /** `judges.default`. */
  readonly defaultJudge: string | undefined;
  /** The whole environment of its processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Longest time of one run, without its judge calls. */
  readonly timeoutMs: number;
  /** Longest time to load the module. */
  readonly loadWithinMs: number;
  readonly memoryBytes: number;
}

/** Writes the limits for errors: `30 s`, `256 MiB`. */
export function limitTexts({ timeoutMs, memoryBytes }: OwnScorerSpec): { timeout: string; memory: string } {
  return {
    timeout: timeoutMs % 1_000 === 0 ? `${timeoutMs / 1_000} s` : `${timeoutMs} ms`,
    memory: `${Math.round(memoryBytes / 1024 / 1024)} MiB`,
  };
}

/** One run that waits for a process or runs in one. */
export interface QueuedRun {
  readonly id: number;
  readonly input: ScorerRunInput;
  /** Judge scope of the run: judges, budget and audit of its questions. */
  readonly scope: JudgeScope;
  /** Time by the monotonic clock, milliseconds. */
  readonly queuedAtMs: number;
  resolve(result: ScorerRunResult): void;
  reject(error: AppError): void;
}

export function runError(code: ErrorCode, message: string, retryAfterMs?: number): AppError {
  const retryable = code === 'scorer_paused' || code === 'scorer_unavailable' || code === 'cancelled';
  return new AppError(message, { code, stage: 'judge', retryable, retryAfterMs });
}

/** Creates the error of a run that this process stopped: the run has no outcome. */
export function cancelledError(name: string): AppError {
  return runError('cancelled', `the run of scorer ${name} was broken off`);
}

/** Most runs that one process has at a time; most of them wait for a judge. */
const MAX_ASSIGNED = 32;

/**
 * Most runs in a process that have not begun. A quick scorer gets many runs in one message; the runs of a slow scorer stay free
 * for other processes.
 */
const UNBEGUN = { quick: 16, slow: 2, quickBelowMs: 10 } as const;

/** Most bytes of serialized inputs in one message; a single larger input is still sent. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Longest time of all judge calls of one run together. */
const JUDGES_WITHIN_MS = 5 * 60_000;

/** Weight of the newest run in the mean duration. */
const MEAN_STEP = 0.2;

/** Fault of a scorer whose code sends messages or bytes of its own to the host. */
export const MISUSE = 'wrote to file descriptor 3 of its process, which only spanscore may use';

/** A run in the process. */
interface Assigned {
  readonly job: QueuedRun;
  /** Milliseconds in which the run had the turn. */
  ownMs: number;
  judgeMs: number;
  hasBegun: boolean;
  /** Answers that were sent to the run and that it has not used yet. */
  undelivered: number;
  readonly calls: Map<number, AbortController>;
  readonly replies: Map<number, () => void>;
}

/** Reason why a process ended. */
export interface WorkerEnd {
  readonly reason: 'timeout' | 'misuse' | 'exit';
  readonly exit: ProcessExit;
  /** The run that had the turn. */
  readonly holder: QueuedRun | null;
  /** The other runs in the process. */
  readonly others: readonly QueuedRun[];
  /** True when one of the other runs had begun: it may have executed code without the turn. */
  readonly isShared: boolean;
  /** Number of all runs that the process has taken: an earlier run can be the cause of a later end. */
  readonly taken: number;
}

interface WorkerListener {
  /** Called when the process may have room for a further run. */
  onRoom(): void;
  /** Called when a run has ended with a result or an error of its own. */
  onEnded(): void;
  onEnd(worker: OwnWorker, end: WorkerEnd): void;
}

/** Result of loading a module. */
type Loading = { readonly facts: DeclaredFacts } | { readonly fault: string };

/** One process of an own scorer, with its runs. */
export class OwnWorker {
  readonly loaded: Promise<Loading>;
  readonly #spec: OwnScorerSpec;
  readonly #listener: WorkerListener;
  readonly #process: WorkerProcess;
  readonly #assigned = new Map<number, Assigned>();
  readonly #loading = Promise.withResolvers<Loading>();
  #isReady = false;
  #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #killedFor: WorkerEnd['reason'] = 'exit';
  /** The run that has the turn. */
  #holder: { readonly run: number; readonly sinceMs: number } | null = null;
  #taken = 0;
  #meanMs = 0;

  constructor(spec: OwnScorerSpec, log: Log, listener: WorkerListener, isAwaited: boolean) {
    this.#spec = spec;
    this.#listener = listener;
    this.#timeoutMs = spec.timeoutMs;
    this.loaded = this.#loading.promise;
    this.#process = new WorkerProcess({
      environment: spec.environment,
      memoryBytes: spec.memoryBytes,
      isAwaited,
      onMessage: (message) => this.#read(message),
      onGarbage: () => this.#endForMisuse(),
      onLine: (line, stream) =>
        log[stream === 'stdout' ? 'info' : 'warn']('a scorer printed a line', { scorer: spec.name, line }),
    });
    void this.#process.exited.then((exit) => this.#onExit(exit));
    const { name, path, judge, defaultJudge, loadWithinMs } = spec;
    this.#process.send({ type: 'load', name, path, judge, defaultJudge });
    this.#timer = setTimeout(() => {
      this.#loading.resolve({ fault: `it did not load within ${loadWithinMs / 1_000} s` });
      this.#process.kill();
    }, loadWithinMs);
  }

  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  get isBusy(): boolean {
    return this.#assigned.size > 0;
  }

  /** Returns the number of runs that the process takes now. */
  get room(): number {
    if (!this.#isReady) {
      return 0;
    }
    const isQuick = this.#meanMs < UNBEGUN.quickBelowMs;
    const unbegun = [...this.#assigned.values()].filter(({ hasBegun }) => !hasBegun).length;
    return Math.max(
      0,
      Math.min(MAX_ASSIGNED - this.#assigned.size, (isQuick ? UNBEGUN.quick : UNBEGUN.slow) - unbegun),
    );
  }

  /** Takes runs from the queue, as many as there is room for. */
  take(queue: QueuedRun[]): void {
    const runs = [];
    let bytes = 0;
    for (let { room } = this; room > 0 && queue.length > 0 && bytes < MAX_MESSAGE_BYTES; room -= 1) {
      const job = queue.shift() as QueuedRun;
      this.#taken += 1;
      const input = serialize(job.input);
      bytes += input.length;
      runs.push({ run: job.id, input });
      this.#assigned.set(job.id, {
        job,
        ownMs: 0,
        judgeMs: 0,
        hasBegun: false,
        undelivered: 0,
        calls: new Map(),
        replies: new Map(),
      });
    }
    if (runs.length > 0) {
      this.#process.send({ type: 'runs', runs });
      this.#arm();
    }
  }

  /** Tells the scorer that the result of this run is no longer needed. */
  cancel(run: number): void {
    if (this.#assigned.has(run)) {
      this.#process.send({ type: 'cancel', run });
    }
  }

  /** Limits the remaining time of the runs in progress. */
  shorten(timeoutMs: number): void {
    const sinceMs = performance.now();
    for (const entry of this.#assigned.values()) {
      entry.ownMs = 0;
    }
    this.#holder = this.#holder === null ? null : { run: this.#holder.run, sinceMs };
    this.#timeoutMs = Math.min(this.#timeoutMs, timeoutMs);
    if (this.#isReady) {
      this.#arm();
    }
  }

  kill(): void {
    this.#process.kill();
  }

  /** Ends the process when its code sends messages of its own: nothing that it says can be relied on. */
  #read(sent: unknown): void {
    const message = this.#killedFor === 'misuse' ? undefined : readWorkerMessage(sent);
    if (message !== undefined) {
      this.#onMessage(message);
      return;
    }
    this.#endForMisuse();
  }

  #endForMisuse(): void {
    this.#killedFor = 'misuse';
    this.#loading.resolve({ fault: MISUSE });
    this.#process.kill();
  }

  #onMessage(message: FromWorker): void {
    switch (message.type) {
      case 'loaded':
        this.#isReady = true;
        this.#loading.resolve({ facts: message.facts });
        break;
      case 'unloadable':
        this.#loading.resolve({ fault: message.message });
        this.#process.kill();
        return;
      case 'turn':
        this.#begin(message.run);
        break;
      case 'waits':
        this.#endTurn(message.run);
        break;
      case 'ask':
        void this.#answer(message.run, message.call, message.question);
        return;
      case 'remember':
        this.#assigned.get(message.run)?.replies.get(message.call)?.();
        return;
      case 'withdraw':
        this.#assigned.get(message.run)?.calls.get(message.call)?.abort();
        return;
      case 'ended':
        this.#settle(message);
    }
    this.#arm();
    this.#listener.onRoom();
  }

  #begin(run: number): void {
    this.#holder = { run, sinceMs: performance.now() };
    const entry = this.#assigned.get(run);
    if (entry !== undefined) {
      entry.hasBegun = true;
      entry.undelivered = 0;
    }
  }

  #endTurn(run: number): void {
    const entry = this.#assigned.get(run);
    if (this.#holder?.run === run) {
      if (entry !== undefined) {
        entry.ownMs += performance.now() - this.#holder.sinceMs;
      }
      this.#holder = null;
    }
  }

  #settle({ run, result, fault }: FromWorker & { type: 'ended' }): void {
    this.#endTurn(run);
    const entry = this.#release(run);
    if (entry === undefined) {
      return;
    }
    this.#meanMs += MEAN_STEP * (entry.ownMs - this.#meanMs);
    this.#listener.onEnded();
    if (result === undefined) {
      entry.job.reject(
        createFaultError(fault ?? readFault(new Error('the scorer gave neither a result nor an error'))),
      );
    } else {
      this.#resolve(entry.job, result);
    }
  }

  #resolve(job: QueuedRun, result: Uint8Array): void {
    try {
      job.resolve(deserialize(result) as ScorerRunResult);
    } catch {
      job.reject(createFaultError(readFault(new Error(`scorer ${this.#spec.name} ${MISUSE}`))));
      this.#endForMisuse();
    }
  }

  #release(run: number): Assigned | undefined {
    const entry = this.#assigned.get(run);
    this.#assigned.delete(run);
    entry?.calls.forEach((call) => call.abort());
    return entry;
  }

  async #answer(run: number, call: number, question: ForwardedQuestion): Promise<void> {
    const entry = this.#assigned.get(run);
    if (entry === undefined) {
      return;
    }
    const calling = new AbortController();
    entry.calls.set(call, calling);
    const startedMs = performance.now();
    try {
      if (entry.judgeMs >= JUDGES_WITHIN_MS) {
        const text = `its calls to judges took more than ${JUDGES_WITHIN_MS / 1_000} s together`;
        throw new JudgeError('judge_timeout', text);
      }
      const { reply, remember } = await answerQuestion(question, entry.job.scope, calling.signal);
      entry.replies.set(call, remember);
      this.#process.send({ type: 'answer', call, reply });
    } catch (error) {
      this.#process.send({ type: 'answer', call, fault: readFault(error) });
    }
    entry.calls.delete(call);
    entry.judgeMs += performance.now() - startedMs;
    entry.undelivered += 1;
    if (this.#assigned.get(run) === entry) {
      this.#arm();
    }
  }

  /** Sets the timer for the run that has the turn, or for the next run that can continue. */
  #arm(): void {
    clearTimeout(this.#timer);
    this.#process.setAwaited(this.#assigned.size > 0);
    const held = this.#holder === null ? undefined : this.#assigned.get(this.#holder.run);
    const isOwed = [...this.#assigned.values()].some((entry) => !entry.hasBegun || entry.undelivered > 0);
    if (held === undefined && !isOwed) {
      return;
    }
    const spentMs = held === undefined ? 0 : held.ownMs + performance.now() - (this.#holder?.sinceMs ?? 0);
    this.#timer = setTimeout(
      () => {
        this.#killedFor = 'timeout';
        this.#process.kill();
      },
      Math.max(0, this.#timeoutMs - spentMs),
    );
  }

  #onExit(exit: ProcessExit): void {
    clearTimeout(this.#timer);
    this.#isReady = false;
    const { memory } = limitTexts(this.#spec);
    const fault = exit.isOutOfMemory
      ? `it took more than ${memory} of memory to load: raise limits.memory`
      : `its process ended (code ${exit.code}, signal ${exit.signal}) ${exit.lastWords.trim()}`.trim();
    this.#loading.resolve({ fault });
    const holder = this.#holder === null ? null : (this.#release(this.#holder.run)?.job ?? null);
    const isShared = [...this.#assigned.values()].some(({ hasBegun }) => hasBegun);
    const others = [...this.#assigned.keys()].map((run) => this.#release(run)?.job);
    this.#listener.onEnd(this, {
      reason: this.#killedFor,
      exit,
      holder,
      isShared,
      taken: this.#taken,
      others: others.filter((job) => job !== undefined),
    });
  }
}

/**
 * Makes the judge call of an own scorer in this process, so that redaction, budget, limits, audit and cache of the scope apply.
 * `remember` adds the reply to the cache, once the scorer could use it. Throws `JudgeError`.
 */
async function answerQuestion(
  { model, step, messages: sent, ...asked }: ForwardedQuestion,
  scope: JudgeScope,
  signal: AbortSignal,
): Promise<{ readonly reply: ModelReply; readonly remember: () => void }> {
  const registry = scope.judges ?? configuredJudges();
  const judge = await registry.resolve(model, step);
  const { redactor = defaultRedactor() } = scope;
  const messages = sent.map(({ role, text }) => ({
    role,
    text: redactor === false ? text : redactor.text(text),
  }));
  const { temperature, responseSchema, maxOutputTokens } = asked;
  // Key of the first question, built like in `askForObject`: a repeat with other wording belongs to the same question.
  const [system, prompt] = messages.map(({ text }) => text);
  const key = hashValue([judge.name, system, prompt, temperature, responseSchema?.jsonSchema ?? null]);
  const known = messages.length === 2 ? scope.cache?.get(key) : undefined;
  const remember = (reply: ModelReply) => () => scope.cache?.set(key, reply);
  if (known !== undefined) {
    scope.onReuse?.(judge.name);
    const { text, modelId } = known;
    const reply: ModelReply = { text, modelId, finishReason: 'stop', usage: undefined };
    return { reply, remember: remember(reply) };
  }
  const { reply, record } = await callRepeatedly(
    { messages, temperature, responseSchema, maxOutputTokens },
    registry.limits.maxRetries,
    {
      judge,
      registry,
      scope,
      tally: new QuestionTally(judge, judge.timeoutMs),
      signal: AbortSignal.any([signal, ...(scope.signal === undefined ? [] : [scope.signal])]),
      step,
    },
  );
  // Before the scorer reads the reply: a scorer that dies leaves its paid calls.
  record();
  return { reply, remember: remember(reply) };
}
