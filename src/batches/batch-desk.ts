import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import { AppError, toAppError } from '../domain/errors.ts';
import { hashValue } from '../domain/identity.ts';
import { nameBudget, type ScopeRest } from '../domain/money/budget.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import { sleep } from '../domain/waits.ts';
import type { BatchQuestion, BatchReply, BatchSeats, SeatedAttempt } from '../judge/batch/batch-seat.ts';
import { JudgeError } from '../judge/judge-error.ts';
import { buildRequest } from './build-request.ts';
import { DeskSeat } from './desk-seat.ts';
import { DEFAULT_TERMS, type DeskTerms } from './desk-terms.ts';
import { choosePayable } from './payable-requests.ts';
import type { AnsweredRequest, BatchRequest, JudgeBatchStore } from '../store/contracts/judge-batches.ts';

/** Batches that a question may be in before its scorer gets the failure. */
const MAX_TRIES = 3;

/** Looks for the end of the last chunks of a job. */
const MAX_LAST_LOOKS = 20;

export interface DeskDeps {
  readonly batches: JudgeBatchStore;
  readonly jobId: string;
  /** Text that makes the questions of this job differ from equal ones of others; '' to use their replies. */
  readonly salt: string;
  /** Most money of the job, USD; null without a limit. */
  readonly maxCostUsd: number | null;
  /** Reads the money that the budgets of a rule and a tenant have left. The keeper of the batches checks it again. */
  readonly readRests: (payer: Pick<SeatedAttempt, 'rule' | 'tenant'>) => Promise<readonly ScopeRest[]>;
  readonly prices: PriceTable;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  /** Throws when this process must not write for the job any more. */
  readonly check: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** One pass over some targets: the seats of its attempts, and the questions that wait for replies. */
export interface BatchVisit extends BatchSeats {
  /** Ids of the questions without a reply. */
  readonly parked: ReadonlySet<string>;
}

/**
 * Desk of a job: collects the questions of its scorers into chunks, which the keeper of the batches sends, and gives their replies to
 * the next attempts.
 */
export class BatchDesk {
  readonly #deps: DeskDeps;
  readonly #terms: DeskTerms;
  /** Questions that have no reply yet, with the id of their chunk; '' while they are collected. */
  readonly #open = new Map<string, string>();
  /** All chunks that had questions of this run. */
  readonly #used = new Set<string>();
  #collected: BatchRequest[] = [];
  #collectedBytes = 0;
  /** Errors of questions for which there is no money. */
  readonly #refused = new Map<string, AppError>();
  /** Chunks of this process that are not created yet: their money is not booked. */
  readonly #unbooked = new Map<string, readonly BatchRequest[]>();
  readonly #lookup: DataLoader<string, AnsweredRequest | undefined>;
  #quietTimer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failure: AppError | undefined;
  #costUsd = 0;
  #error = '';
  #isSpent = false;

  constructor(deps: DeskDeps, terms: Partial<DeskTerms> = {}) {
    this.#deps = deps;
    this.#terms = { ...DEFAULT_TERMS, ...terms };
    this.#lookup = new DataLoader(
      async (ids) => {
        const found = new Map(
          (await deps.batches.requests(ids)).map((request) => [request.customId, request]),
        );
        return ids.map((id) => found.get(id));
      },
      { cache: false, maxBatchSize: 500, batchScheduleFn: (run) => void setTimeout(run, 10) },
    );
  }

  /** Cost of the replies of the job, USD. */
  get costUsd(): number {
    return this.#costUsd;
  }

  /** Last error of the batches whose questions have no reply; null without one. */
  get error(): string | null {
    return this.#error === '' ? null : this.#error;
  }

  /** True when the money of the job did not suffice for a question. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Opens a pass. */
  visit(): BatchVisit {
    const parked = new Set<string>();
    return {
      parked,
      sit: (attempt) =>
        new DeskSeat((question) =>
          this.#answer(attempt, question, parked).catch((error: unknown) => this.#leaveToWait(error)),
        ),
    };
  }

  /** A failure of the store is none of the judge: the attempt has no result, and `wait` throws it. */
  #leaveToWait(error: unknown): undefined {
    if (!(error instanceof AppError) || error.stage !== 'store') {
      throw error;
    }
    this.#failure ??= error;
  }

  /**
   * Waits until none of these questions waits for a batch. Throws what the store has thrown since the desk was opened, and `cancelled` at
   * the end of the lease.
   */
  async wait(ids: ReadonlySet<string>): Promise<void> {
    const { firstLookMs, longestLookMs } = this.#terms;
    for (let waitMs = firstLookMs; ; waitMs = Math.min(longestLookMs, waitMs * 1.5)) {
      this.#throwFailure();
      if (![...ids].some((id) => this.#open.has(id))) {
        return;
      }
      await sleep(waitMs, this.#deps.signal);
      await this.#deps.check();
      await this.#look();
    }
  }

  /** Drops what was collected, and waits for the writes under way. */
  async close(): Promise<void> {
    clearTimeout(this.#quietTimer);
    this.#collected = [];
    await this.#writing;
  }

  /** Waits until the files of the job are deleted at the provider, unless that takes long: the keeper goes on with it. */
  async settle(): Promise<void> {
    for (let looks = 0; looks < MAX_LAST_LOOKS; looks += 1) {
      const chunks = await this.#deps.batches.chunks([...this.#used]);
      if (chunks.every(({ status }) => status === 'done')) {
        break;
      }
      await sleep(this.#terms.firstLookMs, this.#deps.signal);
      await this.#deps.check();
    }
    await this.#readError();
  }

  /** Reads what the job has cost so far, and what its batches wait for. */
  async open(): Promise<void> {
    await this.#readCost();
    await this.#readError();
  }

  async #readCost(): Promise<void> {
    this.#costUsd = (await this.#deps.batches.spentOf(this.#deps.jobId)).costUsd;
  }

  async #readError(): Promise<void> {
    this.#error = await this.#deps.batches.errorOf(this.#deps.jobId);
  }

  async #answer(
    attempt: SeatedAttempt,
    question: BatchQuestion,
    parked: Set<string>,
  ): Promise<BatchReply | undefined> {
    const id = this.#computeId(attempt, question);
    const known = this.#open.has(id) ? undefined : await this.#lookup.load(id);
    const refusal = this.#refused.get(id);
    if (refusal !== undefined) {
      throw refusal;
    }
    const reply = known === undefined ? undefined : this.#readReply(known);
    if (reply !== undefined) {
      return reply;
    }
    if (!this.#open.has(id)) {
      if (known?.status === 'waiting' || known?.status === 'claimed') {
        await this.#adopt(known);
        this.#open.set(id, known.chunk);
        this.#used.add(known.chunk);
      } else {
        this.#collect({
          ...buildRequest(attempt, question, this.#deps.prices),
          customId: id,
          jobId: this.#deps.jobId,
          tries: this.#countTries(known) + 1,
          version: (known?.version ?? 0) + 1,
        });
      }
    }
    parked.add(id);
    return undefined;
  }

  /** Returns the stored reply of a question; undefined when it has to be asked. Throws when it got none for good. */
  #readReply(known: AnsweredRequest): BatchReply | undefined {
    if (known.status === 'replied') {
      return { status: known.replyStatus, body: known.reply };
    }
    if (known.status === 'unpaid' && this.#used.has(known.chunk)) {
      throw this.#keepRefusal(known.customId, known.reply);
    }
    if (known.status === 'lost' && this.#countTries(known) >= MAX_TRIES) {
      // An error of the provider, like one of an online call.
      if (known.replyStatus !== 0) {
        return { status: known.replyStatus, body: known.reply };
      }
      throw new JudgeError('judge_unavailable', `${MAX_TRIES} batches gave no reply: ${known.reply}`, {
        isUnbilled: true,
      });
    }
    return undefined;
  }

  /** Counts the batches of this job that a question was in. What an earlier job has given up is asked again. */
  #countTries(known: AnsweredRequest | undefined): number {
    return known?.jobId === this.#deps.jobId ? known.tries : 0;
  }

  /** A kill may have come between the questions of a chunk and its row. */
  async #adopt({ chunk, jobId, model }: AnsweredRequest): Promise<void> {
    const [known] = await this.#deps.batches.chunks([chunk]);
    if (known === undefined) {
      await this.#writeChunk(chunk, { jobId, model, requests: 0 });
    }
  }

  #computeId({ scoreId, evidenceHash }: SeatedAttempt, { provider, body, fenceCode }: BatchQuestion): string {
    const asked = fenceCode === undefined ? body : body.replaceAll(fenceCode, '');
    return hashValue([this.#deps.salt, scoreId, evidenceHash, provider, asked]);
  }

  #collect(request: BatchRequest): void {
    this.#open.set(request.customId, '');
    this.#collected.push(request);
    this.#collectedBytes += Buffer.byteLength(request.body);
    clearTimeout(this.#quietTimer);
    if (this.#collected.length >= this.#terms.maxRequests || this.#collectedBytes >= this.#terms.maxBytes) {
      this.#flush();
    } else {
      this.#quietTimer = setTimeout(() => this.#flush(), this.#terms.quietMs);
    }
  }

  /** Writes what was collected. Chunks are written one after the other, so that each sees the money of the one before. */
  #flush(): void {
    const requests = this.#collected;
    this.#collected = [];
    this.#collectedBytes = 0;
    this.#writing = this.#writing
      .then(async () => {
        // A batch has the requests of one model.
        for (const ofModel of Map.groupBy(requests, ({ model }) => model).values()) {
          await this.#intend(await this.#choosePayable(ofModel));
        }
      })
      .catch((error: unknown) => {
        this.#failure = toAppError(error, {
          failed: 'questions could not be put into a batch',
          stage: 'store',
          retryable: true,
        });
      });
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
  }

  /** Returns the questions for which there is money. The scorers of the others get the refusal. */
  async #choosePayable(requests: readonly BatchRequest[]): Promise<BatchRequest[]> {
    await this.#look();
    const { maxCostUsd, batches, jobId } = this.#deps;
    const spent = await batches.spentOf(jobId);
    const { payable, refused } = choosePayable(requests, {
      unbooked: [...this.#unbooked.values()].flat(),
      jobRestUsd: maxCostUsd === null ? Infinity : maxCostUsd - spent.costUsd - spent.waitingUsd,
      rests: await this.#readRests(requests),
    });
    for (const { request, isOfJob } of refused) {
      this.#isSpent ||= isOfJob;
      this.#refuse(request, isOfJob ? 'the backfill' : `the budgets of rule ${request.rule}`);
    }
    return payable;
  }

  /** Reads the budgets of questions, each once: several payers share them. */
  async #readRests(requests: readonly BatchRequest[]): Promise<ScopeRest[]> {
    const rests = new Map<string, ScopeRest>();
    for (const [first] of Map.groupBy(requests, nameOfPayer).values()) {
      for (const rest of first === undefined ? [] : await this.#deps.readRests(first)) {
        rests.set(nameBudget(rest.scope), rest);
      }
    }
    return [...rests.values()];
  }

  #refuse({ customId, model, estimatedUsd }: BatchRequest, who: string): void {
    this.#open.delete(customId);
    this.#keepRefusal(
      customId,
      `${who} has no money left for a question to ${model} in a batch, estimated at ${estimatedUsd} USD`,
    );
  }

  #keepRefusal(customId: string, message: string): AppError {
    const refusal = new AppError(message, { code: 'budget_exhausted', stage: 'judge', retryable: true });
    this.#refused.set(customId, refusal);
    return refusal;
  }

  /** Writes the questions of a chunk, then its row: from then on it is sent. */
  async #intend(requests: readonly BatchRequest[]): Promise<void> {
    const [first] = requests;
    if (first === undefined) {
      return;
    }
    const id = randomUUID();
    const ofChunk = requests.map((request) => ({ ...request, chunk: id }));
    await this.#deps.check();
    await this.#deps.batches.writeRequests(ofChunk);
    await this.#deps.check();
    await this.#writeChunk(id, { ...first, requests: requests.length });
    this.#unbooked.set(id, ofChunk);
    this.#used.add(id);
    ofChunk.forEach(({ customId }) => this.#open.set(customId, id));
  }

  async #writeChunk(
    id: string,
    { jobId, model, requests }: { readonly jobId: string; readonly model: string; readonly requests: number },
  ): Promise<void> {
    await this.#deps.batches.writeChunk({
      id,
      jobId,
      provider: model.split('/', 1)[0] ?? '',
      status: 'intended',
      requests,
      intendedAtMs: await this.#deps.nowMs(),
      batchId: '',
      inputFileId: '',
      outputFileId: '',
      errorFileId: '',
      error: '',
    });
  }

  /** Looks which chunks have ended. */
  async #look(): Promise<void> {
    const waiting = new Set(
      [...this.#open.values(), ...this.#unbooked.keys()].filter((chunk) => chunk !== ''),
    );
    if (waiting.size === 0) {
      return;
    }
    const chunks = await this.#deps.batches.chunks([...waiting]);
    await this.#readError();
    for (const { id, status } of chunks) {
      if (status !== 'intended' && status !== 'sending') {
        this.#unbooked.delete(id);
      }
    }
    const ended = new Set(
      chunks.filter(({ status }) => status === 'imported' || status === 'done').map(({ id }) => id),
    );
    if (ended.size === 0) {
      return;
    }
    for (const [customId, chunk] of this.#open) {
      if (ended.has(chunk)) {
        this.#open.delete(customId);
      }
    }
    await this.#readCost();
  }
}

function nameOfPayer({ rule, tenant }: BatchRequest): string {
  return JSON.stringify([rule, tenant]);
}
