import { findPrice, type PriceTable } from '../domain/money/model-prices.ts';
import {
  BATCH_ENDPOINT,
  hasEnded,
  isEnding,
  type BatchClient,
  type ProviderBatch,
} from '../judge/batch/batch-client.ts';
import { findBatchCost } from '../judge/batch/batch-usage.ts';
import { OPEN_STATUSES, type JobStore } from '../store/contracts/jobs.ts';
import type {
  BatchChunk,
  BatchRequest,
  BatchRequestRow,
  ChunkStatus,
  JudgeBatchStore,
} from '../store/contracts/judge-batches.ts';
import type { Log } from '../telemetry/log.ts';
import { bookRequests, type BookingDeps } from './book-requests.ts';
import { describeEnd, describeRefusal, isRefusal } from './batch-faults.ts';
import { readResultLine, type BatchResult } from './read-results.ts';
import { listCosts, listEstimates } from './spend-entries.ts';

/** Keys of the metadata of a batch. */
const CHUNK_KEY = 'spanscore_chunk';
const JOB_KEY = 'spanscore_job';

/** Rows of one write of results. */
const ROWS_PER_WRITE = 500;

export interface StepDeps extends BookingDeps {
  readonly batches: JudgeBatchStore;
  readonly jobs: Pick<JobStore, 'find'>;
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  readonly prices: PriceTable;
  readonly log: Log;
}

/** One step of one chunk. Each step can be repeated after a kill at any point. */
export class ChunkStep {
  readonly #deps: StepDeps;
  readonly #chunk: BatchChunk;
  readonly #client: BatchClient;
  readonly #check: () => Promise<void>;

  constructor(deps: StepDeps, chunk: BatchChunk, client: BatchClient, check: () => Promise<void>) {
    this.#deps = deps;
    this.#chunk = chunk;
    this.#client = client;
    this.#check = check;
  }

  /** Returns the status of the chunk after the step. */
  take(): Promise<ChunkStatus> {
    const steps: Readonly<Record<ChunkStatus, () => Promise<ChunkStatus>>> = {
      intended: () => this.#begin(),
      sending: () => this.#resume(),
      created: () => this.#poll(),
      imported: () => this.#clean(this.#chunk),
      done: async () => 'done',
    };
    return steps[this.#chunk.status]();
  }

  /** Nothing was sent yet. */
  async #begin(): Promise<ChunkStatus> {
    if (!(await this.#isUnwanted())) {
      await this.#check();
      await this.#deps.batches.claim(this.#chunk.id);
    }
    const requests = await this.#readRequests();
    if (requests.length === 0 || (await this.#isUnwanted())) {
      await this.#lose(requests, JOB_ENDED);
      return this.#save({ ...this.#chunk, status: 'done', error: '' });
    }
    const intendedAtMs = await this.#deps.nowMs();
    const sending = {
      ...this.#chunk,
      status: 'sending',
      requests: requests.length,
      intendedAtMs,
    } as const;
    await this.#check();
    await this.#save(sending);
    return this.#send(sending, requests);
  }

  /** A process has begun to send. Its batch may exist: it is taken over, and no other one is made. */
  async #resume(): Promise<ChunkStatus> {
    const known = (await this.#findBatch()) ?? (await this.#fence());
    if (known !== undefined) {
      return this.#accept(this.#chunk, known);
    }
    const requests = await this.#readRequests();
    if (requests.length === 0 || (await this.#isUnwanted())) {
      await this.#lose(requests, JOB_ENDED);
      await this.#book(this.#chunk, requests);
      return this.#save({ ...this.#chunk, status: 'done', error: '' });
    }
    return this.#send({ ...this.#chunk, requests: requests.length }, requests);
  }

  /** Finds the batch of the chunk at the provider. */
  async #findBatch(): Promise<ProviderBatch | undefined> {
    const [known, ...extra] = await this.#client.findBatches(CHUNK_KEY, this.#chunk.id);
    await Promise.all(extra.filter((batch) => !isEnding(batch)).map(({ id }) => this.#client.cancel(id)));
    return known;
  }

  /**
   * Keeps a process that stalled before it created the batch from creating it later: its file is deleted. Returns a batch that it has
   * created until then.
   */
  async #fence(): Promise<ProviderBatch | undefined> {
    await this.#deleteFilesByName();
    return this.#findBatch();
  }

  async #deleteFilesByName(): Promise<void> {
    const files = await this.#client.findFiles(nameFile(this.#chunk));
    await Promise.all(files.map((id) => this.#client.deleteFile(id)));
  }

  async #send(chunk: BatchChunk, requests: readonly BatchRequestRow[]): Promise<ChunkStatus> {
    const payable = await this.#payFor(chunk, requests);
    if (payable === 0) {
      return this.#save({ ...chunk, status: 'done', error: '' });
    }
    const paid = { ...chunk, requests: payable };
    if (payable < chunk.requests) {
      await this.#save(paid);
    }
    const lines: string[] = [];
    for await (const { customId, body } of this.#deps.batches.bodies(chunk.id)) {
      // The body stays the text that the client made: a parser could change its numbers.
      lines.push(
        `{"custom_id":${JSON.stringify(customId)},"method":"POST","url":"${BATCH_ENDPOINT}","body":${body}}\n`,
      );
    }
    let inputFileId = '';
    let batch: ProviderBatch;
    try {
      inputFileId = await this.#client.upload(nameFile(chunk), lines.join(''));
      await this.#checkOr(() => this.#client.deleteFile(inputFileId));
      batch = await this.#client.create(inputFileId, { [JOB_KEY]: chunk.jobId, [CHUNK_KEY]: chunk.id });
    } catch (error) {
      if (isRefusal(error)) {
        return this.#import(
          { ...paid, inputFileId, error: describeRefusal(error, chunk.provider) },
          'refused',
        );
      }
      throw error;
    }
    await this.#checkOr(() => this.#cancelUnless(chunk.id, batch.id));
    return this.#accept({ ...paid, inputFileId }, batch);
  }

  /** Books the questions, and takes those out for which a budget has no money. Returns the number of the others. */
  async #payFor(chunk: BatchChunk, all: readonly BatchRequestRow[]): Promise<number> {
    await this.#check();
    const { payable, refused } = await bookRequests(this.#deps, chunk, all);
    await this.#write(
      refused.map(({ request, reason }) =>
        giveUp({ ...request, tries: request.tries - 1 }, 'unpaid', reason),
      ),
    );
    await this.#deps.judgeCalls.spend(
      listEstimates(
        chunk,
        refused.map(({ request }) => request),
        -1,
      ),
    );
    return payable.length;
  }

  /** Checks the duty. Cleans up before it throws when another process keeps the batches by now. */
  async #checkOr(cleanUp: () => Promise<void>): Promise<void> {
    try {
      await this.#check();
    } catch (error) {
      await cleanUp();
      throw error;
    }
  }

  /** Cancels a batch when the chunk has another one. Otherwise the process that keeps the batches has this one, or finds it. */
  async #cancelUnless(chunkId: string, batchId: string): Promise<void> {
    const [stored] = await this.#deps.batches.chunks([chunkId]);
    if (stored !== undefined && stored.batchId !== '' && stored.batchId !== batchId) {
      await this.#client.cancel(batchId);
    }
  }

  #accept(chunk: BatchChunk, batch: ProviderBatch): Promise<ChunkStatus> {
    return this.#save({ ...chunk, ...listFiles(batch), batchId: batch.id, status: 'created', error: '' });
  }

  async #poll(): Promise<ChunkStatus> {
    const batch = await this.#client.read(this.#chunk.batchId);
    if (batch === undefined) {
      return this.#import({ ...this.#chunk, error: 'the provider does not know the batch any more' });
    }
    if (hasEnded(batch)) {
      return this.#import({ ...this.#chunk, ...listFiles(batch), error: batch.error }, batch.status);
    }
    if (batch.status !== 'cancelling') {
      // Fewer questions than were sent: some were purged. An unpaid one was not sent, and may be in another chunk by now.
      const sent = (await this.#readRequests()).filter(({ status }) => status !== 'unpaid');
      const isPurged = sent.length < this.#chunk.requests;
      if (isPurged || (await this.#isUnwanted())) {
        await this.#client.cancel(batch.id);
      }
    }
    return this.#chunk.status;
  }

  /** Stores all replies of a batch that has ended, and their cost. A repeat stores the same. */
  async #import(chunk: BatchChunk, ending = 'gone'): Promise<ChunkStatus> {
    const all = (await this.#readRequests()).filter(({ status }) => status !== 'unpaid');
    const open = new Map(all.map((request) => [request.customId, request]));
    const asked: BatchRequestRow[] = [];
    let unreadable = 0;
    let writes: BatchRequest[] = [];
    for await (const result of this.#readResults(chunk, () => (unreadable += 1))) {
      const request = open.get(result.customId);
      // An unknown question was purged, or is none of ours.
      if (request === undefined || result.status === 0) {
        continue;
      }
      open.delete(result.customId);
      const answered = this.#answer(request, result);
      asked.push(answered);
      writes.push(answered);
      if (writes.length >= ROWS_PER_WRITE) {
        await this.#write(writes);
        writes = [];
      }
    }
    await this.#write(writes);
    const why = [chunk.error, `the batch ended as ${ending} without a reply`].filter((text) => text !== '');
    const lost = await this.#lose([...open.values()], { why: why.join('; '), isTry: ending !== 'cancelled' });
    const overloads = asked.filter(({ status }) => status === 'lost').length;
    const error = describeEnd({
      ending,
      failure: chunk.error,
      all: all.length,
      missing: lost + overloads,
      overloads,
    });
    if (unreadable + lost > 0) {
      this.#deps.log.warn('a batch of a judge ended without some replies', {
        chunk: chunk.id,
        batch: chunk.batchId,
        ending,
        lost,
        unreadable,
        error,
      });
    }
    await this.#book(chunk, all, asked);
    const imported = { ...chunk, error, status: 'imported' } as const;
    await this.#save(imported);
    return this.#clean(imported);
  }

  async *#readResults(chunk: BatchChunk, onUnreadable: () => void): AsyncGenerator<BatchResult> {
    for (const fileId of [chunk.outputFileId, chunk.errorFileId].filter((id) => id !== '')) {
      const lines = (await this.#client.readLines(fileId)) ?? [];
      for await (const line of lines) {
        const result = line.trim() === '' ? undefined : readResultLine(line);
        if (result !== undefined) {
          yield result;
        } else if (line.trim() !== '') {
          onUnreadable();
        }
      }
    }
  }

  #answer(request: BatchRequestRow, { status, body }: BatchResult): BatchRequest {
    const price = findPrice(request.model, this.#deps.prices);
    const costUsd = status < 300 ? findBatchCost(JSON.parse(body), price) : 0;
    // The provider gives an overload in a batch as a reply: the question is asked again.
    const isLost = status === 429 || status >= 500;
    return {
      ...request,
      status: isLost ? 'lost' : 'replied',
      costUsd: costUsd ?? null,
      version: request.version + 1,
      body: '',
      replyStatus: status,
      reply: body,
    };
  }

  /** Marks questions without a reply. Returns their number. */
  async #lose(requests: readonly BatchRequestRow[], { why, isTry }: Loss): Promise<number> {
    const open = requests.filter(({ status }) => status === 'waiting' || status === 'claimed');
    await this.#write(
      open.map((request) => giveUp({ ...request, tries: request.tries - (isTry ? 0 : 1) }, 'lost', why)),
    );
    return open.length;
  }

  /** Books the costs instead of the estimates. */
  async #book(
    chunk: BatchChunk,
    all: readonly BatchRequestRow[],
    asked: readonly BatchRequestRow[] = [],
  ): Promise<void> {
    const entries = [
      ...listEstimates(chunk, all, 1),
      ...listEstimates(chunk, all, -1),
      ...listCosts(chunk, asked),
    ];
    await this.#deps.judgeCalls.spend(entries);
  }

  /** Deletes the files at the provider, also those of a process that was killed after an upload. */
  async #clean(chunk: BatchChunk): Promise<ChunkStatus> {
    const files = [chunk.inputFileId, chunk.outputFileId, chunk.errorFileId].filter((id) => id !== '');
    await Promise.all(files.map((id) => this.#client.deleteFile(id)));
    await this.#deleteFilesByName();
    return this.#save({ ...chunk, status: 'done' });
  }

  async #isUnwanted(): Promise<boolean> {
    const job = await this.#deps.jobs.find(this.#chunk.jobId);
    return job === undefined || !OPEN_STATUSES.includes(job.status);
  }

  async #readRequests(): Promise<BatchRequestRow[]> {
    return this.#deps.batches.requestsOf(this.#chunk.id);
  }

  async #write(requests: readonly BatchRequest[]): Promise<void> {
    await this.#check();
    for (let start = 0; start < requests.length; start += ROWS_PER_WRITE) {
      await this.#deps.batches.writeRequests(requests.slice(start, start + ROWS_PER_WRITE));
    }
  }

  async #save(chunk: BatchChunk): Promise<ChunkStatus> {
    await this.#deps.batches.writeChunk(chunk);
    return chunk.status;
  }
}

/** Reason why questions have no reply. */
interface Loss {
  readonly why: string;
  /** False when the batch was cancelled: the questions may be asked as often as before. */
  readonly isTry: boolean;
}

const JOB_ENDED: Loss = { why: 'the job has ended', isTry: false };

function giveUp(request: BatchRequestRow, status: 'lost' | 'unpaid', why: string): BatchRequest {
  return {
    ...request,
    status,
    costUsd: 0,
    version: request.version + 1,
    body: '',
    replyStatus: 0,
    reply: why,
  };
}

/** Returns the name of the file of a chunk. */
function nameFile({ id }: BatchChunk): string {
  return `spanscore-${id}.jsonl`;
}

function listFiles({ inputFileId, outputFileId, errorFileId }: ProviderBatch) {
  return { inputFileId, outputFileId, errorFileId };
}
