import { DAY_MS, MINUTE_MS, SECOND_MS } from '../domain/durations.ts';
import { hashValue } from '../domain/identity.ts';
import { priceBatches } from '../domain/money/model-prices.ts';
import { sleep } from '../domain/waits.ts';
import { toJudgeError } from './faults.ts';
import { JudgeError } from './judge-error.ts';
import type { JudgeRegistry } from './judge-registry.ts';
import { currentJudgeScope } from './judge-scope.ts';
import type { BatchApi } from './model-call.ts';

/** Result of one request of a batch; an answer has the form of a live one. */
type BatchItem =
  Awaited<ReturnType<BatchApi['doGetBatchResults']>> extends ReadableStream<infer T> ? T : never;

type ListedBatch = Awaited<ReturnType<BatchApi['doListBatches']>>['batches'][number];

/** Batch as its job stores it: before it is created, without an id. */
export interface StoredBatch {
  readonly judge: string;
  readonly id: string | null;
  /** Time of the intent, Unix milliseconds. */
  readonly sinceMs: number;
}

export interface BatchTimes {
  /** Time without a further question after which a batch is started, milliseconds. */
  readonly quietMs: number;
  /** First and longest interval of the questions about a batch, milliseconds. */
  readonly pollMs: readonly [number, number];
  /** Time after an intent in which its batch may still appear in the list, milliseconds. */
  readonly appearsMs: number;
}

const TIMES: BatchTimes = {
  quietMs: 3 * SECOND_MS,
  pollMs: [SECOND_MS, MINUTE_MS],
  appearsMs: MINUTE_MS,
};

/** Longest time of a question in a batch, milliseconds. The providers end a batch after one or two days. */
export const BATCH_TIMEOUT_MS = 3 * DAY_MS;

/** Most requests and bytes of one batch: below the limits of all providers. */
const MAX_REQUESTS = 2_000;
const MAX_BYTES = 15_000_000;

/** Time by which the clock of a provider may be behind, milliseconds. */
const CLOCK_SKEW_MS = 5 * MINUTE_MS;

export interface BatchDeps {
  readonly judges: JudgeRegistry;
  /** Judges of the job, whose prices are those of batches. */
  readonly prices: readonly string[];
  /** Id of the job: with the time of the intent it marks the requests, so that a batch is known by them. */
  readonly job: string;
  /** Stores `stored` with the progress of the job. */
  readonly save: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly log: { warn(message: string, details: Readonly<Record<string, unknown>>): void };
  readonly times?: Partial<BatchTimes> | undefined;
}

/** Question that waits for its answer; equal ones share a request. */
interface Waiting {
  readonly modelId: string;
  readonly options: object;
  readonly askers: PromiseWithResolvers<unknown>[];
}

/**
 * Batches of one job. Its registry resolves judges whose calls wait for a batch, so that a reply is read, paid for and stored as a live
 * one is. A request is named by its content: a job that was interrupted asks the same questions again, and finds the answers of the
 * batches that it has stored.
 */
export class JudgeBatches {
  readonly judges: JudgeRegistry;
  readonly #deps: BatchDeps;
  readonly #times: BatchTimes;
  #stored: StoredBatch[];
  /** Results that nobody has asked for, by the hash of their question. */
  readonly #results = new Map<string, BatchItem>();
  /** Questions by judge that wait for the next batch. */
  readonly #queues = new Map<
    string,
    { waiting: Map<string, Waiting>; bytes: number; timer?: NodeJS.Timeout }
  >();

  /** @param stored batches of the job that an earlier process has begun */
  constructor(deps: BatchDeps, stored: readonly StoredBatch[]) {
    const { judges, prices } = deps;
    this.#deps = deps;
    this.#times = { ...TIMES, ...deps.times };
    this.#stored = [...stored];
    this.judges = {
      ...judges,
      prices: priceBatches(prices, judges.prices),
      // What failed in a batch is asked again by the job, in its next batch.
      limits: { ...judges.limits, maxRetries: 0 },
      resolve: async (model, step) => {
        const { gate: _gate, breaker: _breaker, ...judge } = await judges.resolve(model, step);
        const { modelId, provider } = judge.model;
        const doGenerate = (options: object) => this.#ask(judge.name, modelId, options);
        return { ...judge, timeoutMs: BATCH_TIMEOUT_MS, model: { modelId, provider, doGenerate } };
      },
    };
  }

  /** Batches that the job must know after an interruption. */
  get stored(): readonly StoredBatch[] {
    return this.#stored;
  }

  /** Waits for the batches of an earlier process, and takes their results. */
  async recover(): Promise<void> {
    for (const batch of this.#stored) {
      await this.#takeResults(batch);
    }
  }

  /** Forgets batches whose answers have all become rows. */
  forget(): void {
    this.#stored = [];
    this.#results.clear();
  }

  #ask(judge: string, modelId: string, asked: object): Promise<unknown> {
    const { abortSignal: _, ...options } = asked as { readonly abortSignal?: AbortSignal };
    const fenceCode = currentJudgeScope().fenceCode?.();
    const text = JSON.stringify(options);
    // The code on the marker lines is another one in each process.
    const content = fenceCode === undefined ? text : text.replaceAll(fenceCode, '');
    const hash = hashValue([judge, content]).slice(0, 32);
    const asker = Promise.withResolvers<unknown>();
    const queue = this.#queues.get(judge) ?? { waiting: new Map<string, Waiting>(), bytes: 0 };
    this.#queues.set(judge, queue);
    const waiting: Waiting = queue.waiting.get(hash) ?? { modelId, options, askers: [] };
    waiting.askers.push(asker);
    if (this.#results.has(hash)) {
      this.#answer(hash, waiting, '');
      return asker.promise;
    }
    queue.bytes += queue.waiting.has(hash) ? 0 : text.length;
    queue.waiting.set(hash, waiting);
    clearTimeout(queue.timer);
    if (queue.waiting.size >= MAX_REQUESTS || queue.bytes >= MAX_BYTES) {
      this.#flush(judge);
    } else {
      queue.timer = setTimeout(() => this.#flush(judge), this.#times.quietMs);
    }
    return asker.promise;
  }

  /** Sends the questions that wait for a judge as one batch. */
  #flush(judge: string): void {
    const { waiting = new Map<string, Waiting>() } = this.#queues.get(judge) ?? {};
    this.#queues.delete(judge);
    void this.#runBatch(judge, waiting).then(
      (why) => waiting.forEach((each, hash) => this.#answer(hash, each, why)),
      (error: unknown) => waiting.forEach(({ askers }) => askers.forEach((asker) => asker.reject(error))),
    );
  }

  /** Creates a batch, and waits for its results. Returns why there may be none for a request. */
  async #runBatch(judge: string, waiting: ReadonlyMap<string, Waiting>): Promise<string> {
    const { save, signal: abortSignal, judges, log } = this.#deps;
    const api = await judges.openBatch(judge);
    const intent: StoredBatch = { judge, id: null, sinceMs: judges.deps.now() };
    this.#stored.push(intent);
    await save();
    abortSignal.throwIfAborted();
    const prefix = this.#prefixOf(intent);
    const requests = [...waiting].map(([hash, { modelId, options }]) => ({
      id: `${prefix}${hash}`,
      type: 'text' as const,
      modelId,
      options: options as never,
    }));
    try {
      const { batchId } = await api.doStartBatch({ requests, abortSignal });
      return await this.#takeResults(await this.#know(intent, batchId), api);
    } catch (thrown) {
      const error = toBatchError(thrown, judges.deps.now());
      if (abortSignal.aborted || !this.#stored.includes(intent)) {
        throw error;
      }
      if (isRefused(error)) {
        await this.#drop(intent);
        throw error;
      }
      // The provider may have created the batch all the same.
      log.warn('the start of a batch failed; looking for it', { judge, error });
      return this.#takeResults(intent, api);
    }
  }

  /** Begin of the ids of the requests of a batch. */
  #prefixOf({ judge, sinceMs }: StoredBatch): string {
    return `spanscore-${hashValue([this.#deps.job, judge, sinceMs]).slice(0, 12)}-`;
  }

  async #know(intent: StoredBatch, id: string): Promise<StoredBatch> {
    const known = { ...intent, id };
    this.#stored = this.#stored.map((each) => (each === intent ? known : each));
    await this.#deps.save();
    return known;
  }

  async #drop(intent: StoredBatch): Promise<void> {
    this.#stored = this.#stored.filter((each) => each !== intent);
    await this.#deps.save();
  }

  /** Waits for the end of a batch and takes its results. Returns why there may be none for a request. */
  async #takeResults(batch: StoredBatch, opened?: BatchApi): Promise<string> {
    const api = opened ?? (await this.#deps.judges.openBatch(batch.judge));
    const { id } = batch;
    if (id === null) {
      return this.#findLost(batch, api);
    }
    const { why, items } = await this.#waitForEnd(batch, { id, api });
    this.#keep(batch, items);
    return why;
  }

  /** Keeps the results of a batch. An answer wins over a failure of an earlier batch. */
  #keep(batch: StoredBatch, items: readonly BatchItem[]): void {
    const prefix = this.#prefixOf(batch);
    for (const item of items.filter(({ id }) => id.startsWith(prefix))) {
      const hash = item.id.slice(prefix.length);
      if (item.status === 'succeeded' || this.#results.get(hash)?.status !== 'succeeded') {
        this.#results.set(hash, item);
      }
    }
  }

  /** Waits until a batch has ended. A batch that is gone, or that never ends, has no results. */
  async #waitForEnd(
    { judge, sinceMs }: StoredBatch,
    { id: batchId, api }: { readonly id: string; readonly api: BatchApi },
  ): Promise<{ readonly why: string; readonly items: readonly BatchItem[] }> {
    const { signal: abortSignal, judges, log } = this.#deps;
    const endMs = sinceMs + BATCH_TIMEOUT_MS;
    for (const pause of this.#pauses()) {
      try {
        const { status, rawStatus = status, error } = await api.doGetBatchStatus({ batchId, abortSignal });
        if (status !== 'pending') {
          const items: BatchItem[] = [];
          for await (const item of await api.doGetBatchResults({ batchId, abortSignal })) {
            items.push(item);
          }
          return { why: error?.message ?? `its batch ended as ${rawStatus}`, items };
        }
      } catch (thrown) {
        const error = toJudgeError(thrown, judges.deps.now());
        if (error.details['status'] === 404) {
          return { why: `the provider has no batch ${batchId} any more`, items: [] };
        }
        log.warn('a batch cannot be read; trying again', { judge, batch: batchId, error });
      }
      if (judges.deps.now() > endMs) {
        return { why: `the batch ${batchId} did not end`, items: [] };
      }
      await pause();
    }
    throw new JudgeError('cancelled', 'the batch was left to the next process');
  }

  /** Yields waits that grow, until the job is interrupted. */
  *#pauses(): Generator<() => Promise<void>> {
    const [first, longest] = this.#times.pollMs;
    const { signal } = this.#deps;
    for (let waitMs = first; !signal.aborted; waitMs = Math.min(waitMs * 1.5, longest)) {
      yield () => sleep(waitMs, signal);
    }
  }

  /**
   * Looks for a batch whose creator ended before it stored the id, among the batches that were created since the intent: the one with
   * its requests. The results show the requests, so each batch is waited for.
   */
  async #findLost(intent: StoredBatch, api: BatchApi): Promise<string> {
    const { judges, log } = this.#deps;
    const prefix = this.#prefixOf(intent);
    const foreign = new Set<string>();
    for (const pause of this.#pauses()) {
      try {
        const known = new Set(this.#stored.map(({ id }) => id));
        const listed = await this.#listSince(intent, api);
        for (const { batchId } of listed.filter(({ batchId: id }) => !known.has(id) && !foreign.has(id))) {
          const { why, items } = await this.#waitForEnd(intent, { id: batchId, api });
          if (items.some(({ id }) => id.startsWith(prefix))) {
            this.#keep(intent, items);
            await this.#know(intent, batchId);
            return why;
          }
          foreign.add(batchId);
        }
        if (judges.deps.now() > intent.sinceMs + this.#times.appearsMs) {
          await this.#drop(intent);
          return 'its batch was not created';
        }
      } catch (error) {
        log.warn('batches cannot be listed; trying again', { judge: intent.judge, error });
      }
      await pause();
    }
    throw new JudgeError('cancelled', 'the batch was left to the next process');
  }

  async #listSince({ sinceMs }: StoredBatch, api: BatchApi): Promise<readonly ListedBatch[]> {
    const { signal: abortSignal } = this.#deps;
    const found: ListedBatch[] = [];
    const isSince = ({ createdAt }: ListedBatch) =>
      createdAt === undefined || Date.parse(createdAt) >= sinceMs - CLOCK_SKEW_MS;
    let cursor: string | undefined;
    do {
      const page = await api.doListBatches({ abortSignal, ...(cursor === undefined ? {} : { cursor }) });
      found.push(...page.batches.filter(isSince));
      // The newest come first.
      cursor = page.batches.every(isSince) ? page.nextCursor : undefined;
    } while (cursor !== undefined);
    return found;
  }

  /** Gives the result of a request to those that asked it. Each result is given once: a failed question that is asked again is a new one. */
  #answer(hash: string, { askers }: Waiting, why: string): void {
    const item = this.#results.get(hash);
    this.#results.delete(hash);
    if (item?.status === 'succeeded') {
      askers.forEach((asker) => asker.resolve(item.result));
      return;
    }
    const error = describeFailure(item, why);
    askers.forEach((asker) => asker.reject(error));
  }
}

/** Errors of packages about requests that they do not send. */
const UNSENT = /^AI_(?:UnsupportedFunctionality|InvalidArgument|LoadAPIKey)Error$/;

/** Builds the error of a batch that was not made. A setting that the package refuses counts as refused by the provider. */
function toBatchError(thrown: unknown, nowMs: number): JudgeError {
  if (!(thrown instanceof Error && UNSENT.test(thrown.name))) {
    return toJudgeError(thrown, nowMs);
  }
  const details = { status: 400, body: thrown.message };
  return new JudgeError('judge_misconfigured', `the batch cannot be made: ${thrown.message}`, {
    cause: thrown,
    details,
  });
}

/** True when a provider has certainly created no batch: it refused it, or was not reached. */
function isRefused({ kind, details, isUnbilled }: JudgeError): boolean {
  const status = Number(details['status']);
  return (status >= 400 && status < 500 && status !== 408) || (kind === 'network' && isUnbilled);
}

/** Builds the error of a request without an answer. One that the provider refused has the form of a live refusal. */
function describeFailure(item: Exclude<BatchItem, { status: 'succeeded' }> | undefined, why: string): Error {
  if (item?.status !== 'failed' || item.error === undefined) {
    const words = item?.error?.message ?? why;
    return new JudgeError('judge_unavailable', `the batch has no answer to the question: ${words}`, {
      isUnbilled: true,
      kind: item?.status ?? 'batch',
    });
  }
  const { message, type, code, statusCode } = item.error;
  const data = { error: { message, code: statusCode ?? code, type: type ?? code } };
  return Object.assign(new Error(message), { data });
}
