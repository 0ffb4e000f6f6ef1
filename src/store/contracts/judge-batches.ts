/** States of a chunk, in their order. A later one replaces an earlier one. */
export const CHUNK_STATUSES = ['intended', 'sending', 'created', 'imported', 'done'] as const;
export type ChunkStatus = (typeof CHUNK_STATUSES)[number];

/** Questions that go to a provider as one batch. */
export interface BatchChunk {
  readonly id: string;
  readonly jobId: string;
  readonly provider: string;
  readonly status: ChunkStatus;
  /** Number of questions. */
  readonly requests: number;
  /** Unix milliseconds, by the store's clock. From `sending` on, the begin of that: its day pays. */
  readonly intendedAtMs: number;
  /** Names of the provider; '' while there is none. */
  readonly batchId: string;
  readonly inputFileId: string;
  readonly outputFileId: string;
  readonly errorFileId: string;
  /** Failure of the batch, or of the last try to send or read it, and what to do; '' without one. */
  readonly error: string;
}

/** Question of a batch without its texts. */
export interface BatchRequestRow {
  /** Hash of the score id, the evidence and the question. */
  readonly customId: string;
  /** Id of the chunk. */
  readonly chunk: string;
  readonly jobId: string;
  readonly tenant: string;
  /** '' for a session. */
  readonly traceId: string;
  /** '' for a run without a session. */
  readonly sessionId: string;
  readonly scoreId: string;
  /** Rule that pays. */
  readonly rule: string;
  /** `provider/model`. */
  readonly model: string;
  /**
   * `waiting` for its batch, `claimed` by the process that sends the batch, `replied`, `lost`: the batch ended without a usable line
   * for it, or `unpaid`: no budget had money for it when the batch was about to be sent.
   */
  readonly status: 'waiting' | 'claimed' | 'replied' | 'lost' | 'unpaid';
  /** Number of batches that the question was in. */
  readonly tries: number;
  /** Expected cost, USD; null for a judge without a price. */
  readonly estimatedUsd: number | null;
  /** Cost of the reply, USD; null while it is not known. */
  readonly costUsd: number | null;
  /** The greater one of two rows is current. */
  readonly version: number;
}

/** Question of a batch with its reply. */
export interface AnsweredRequest extends BatchRequestRow {
  /** HTTP status of the reply; 0 without one. */
  readonly replyStatus: number;
  /** Body of the reply, or the reason why the question was lost. */
  readonly reply: string;
}

/** Question of a batch with its texts. */
export interface BatchRequest extends AnsweredRequest {
  /** Body of the request; '' once the batch has ended. */
  readonly body: string;
}

/** Batches of questions to judges. */
export interface JudgeBatchStore {
  writeChunk(chunk: BatchChunk): Promise<void>;
  writeRequests(requests: readonly BatchRequest[]): Promise<void>;
  /** Reads the chunks that are not done. */
  openChunks(): Promise<BatchChunk[]>;
  chunks(ids: readonly string[]): Promise<BatchChunk[]>;
  /** Reads questions by their ids. */
  requests(customIds: readonly string[]): Promise<AnsweredRequest[]>;
  /**
   * Claims the waiting questions of a chunk. Another chunk may have the same questions: the first that claims them keeps them, and a late
   * write of the other one changes nothing.
   */
  claim(chunk: string): Promise<void>;
  /** Streams the bodies of the claimed questions of a chunk. */
  bodies(chunk: string): AsyncIterable<Pick<BatchRequest, 'customId' | 'body'>>;
  /** Reads the questions of a chunk without their texts. */
  requestsOf(chunk: string): Promise<BatchRequestRow[]>;
  /** Returns the last error of a job's batches that are open, or whose questions have no reply; '' without one. */
  errorOf(jobId: string): Promise<string>;
  /** Sums the money of a job: the cost of its replies, and the expected cost of its questions without a reply. */
  spentOf(jobId: string): Promise<{ readonly costUsd: number; readonly waitingUsd: number }>;
}
