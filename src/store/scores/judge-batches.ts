import {
  CHUNK_STATUSES,
  type AnsweredRequest,
  type BatchChunk,
  type BatchRequest,
  type BatchRequestRow,
  type ChunkStatus,
  type JudgeBatchStore,
} from '../contracts/judge-batches.ts';
import type { Database } from '../database.ts';
import { splitIntoSlices } from '../spans/trace-keys.ts';
import { toDateTime } from '../values.ts';

/** Room for the time of writing in the version of a chunk, below its status. */
const STATUS_STEP = 2n ** 48n;

export function createJudgeBatchStore(database: Database): JudgeBatchStore {
  return { ...createChunks(database), ...createQuestions(database) };
}

type ChunkPart = 'writeChunk' | 'openChunks' | 'chunks' | 'errorOf';

function createChunks(database: Database): Pick<JudgeBatchStore, ChunkPart> {
  return {
    writeChunk: (chunk) => database.insertRows('judge_batches', [toChunkRow(chunk)]),
    openChunks: async () =>
      (await database.rows<ChunkRow>(`${SELECT_CHUNKS} WHERE Status != 'done' ORDER BY IntendedAt`)).map(
        fromChunkRow,
      ),
    chunks: async (ids) =>
      (
        await database.rows<ChunkRow>(`${SELECT_CHUNKS} WHERE Chunk IN {ids:Array(String)}`, {
          ids: [...ids],
        })
      ).map(fromChunkRow),
    errorOf: async (jobId) => {
      const [row] = await database.rows<{ error: string }>(
        `SELECT Error AS error FROM judge_batches FINAL
         WHERE JobId = {jobId:String} AND Error != '' AND (Status NOT IN ('imported', 'done') OR Chunk IN (
           SELECT Chunk FROM judge_batch_requests FINAL WHERE JobId = {jobId:String} AND Status = 'lost'))
         ORDER BY WrittenAt DESC LIMIT 1`,
        { jobId },
      );
      return row?.error ?? '';
    },
  };
}

function createQuestions(database: Database): Omit<JudgeBatchStore, ChunkPart> {
  return {
    writeRequests: (requests) => database.insertRows('judge_batch_requests', requests.map(toRequestRow)),
    claim: (chunk) =>
      database.insertSelected(
        `INSERT INTO judge_batch_requests
         SELECT * REPLACE ('claimed' AS Status, Version + 1 AS Version, now64(3) AS WrittenAt) FROM (
           SELECT * FROM judge_batch_requests FINAL WHERE Chunk = {chunk:String} AND Status = 'waiting')`,
        { chunk },
      ),
    requests: async (customIds) => {
      const found: AnsweredRequest[] = [];
      for (const slice of splitIntoSlices(customIds)) {
        const rows = await database.rows<RequestRow & Pick<AnsweredRequest, 'reply' | 'replyStatus'>>(
          `SELECT ${REQUEST_COLUMNS}, ReplyStatus AS replyStatus, Reply AS reply
           FROM judge_batch_requests FINAL WHERE CustomId IN {ids:Array(String)}`,
          { ids: slice },
        );
        found.push(...rows.map((row) => ({ ...row, ...fromRequestRow(row) })));
      }
      return found;
    },
    async *bodies(chunk) {
      const rows = database.stream(
        `SELECT CustomId, Body FROM judge_batch_requests FINAL
         WHERE Chunk = {chunk:String} AND Status = 'claimed' ORDER BY CustomId`,
        { chunk },
      );
      for await (const batch of rows) {
        yield* batch.map(({ columns: [customId, body] }) => ({
          customId: String(customId),
          body: String(body),
        }));
      }
    },
    requestsOf: async (chunk) =>
      (
        await database.rows<RequestRow>(
          `SELECT ${REQUEST_COLUMNS} FROM judge_batch_requests FINAL WHERE Chunk = {chunk:String}`,
          { chunk },
        )
      ).map(fromRequestRow),
    spentOf: async (jobId) => {
      const [row] = await database.rows<{ costUsd: number; waitingUsd: number }>(
        `SELECT sum(ifNull(CostUsd, 0)) AS costUsd, sumIf(ifNull(EstimatedUsd, 0), Status IN ('waiting', 'claimed')) AS waitingUsd
         FROM judge_batch_requests FINAL WHERE JobId = {jobId:String}`,
        { jobId },
      );
      return row ?? { costUsd: 0, waitingUsd: 0 };
    },
  };
}

const SELECT_CHUNKS = `
  SELECT Chunk AS id, JobId AS jobId, Provider AS provider, Status AS status, Requests AS requests,
    toUnixTimestamp64Milli(IntendedAt) AS intendedAtMs, BatchId AS batchId, InputFileId AS inputFileId,
    OutputFileId AS outputFileId, ErrorFileId AS errorFileId, Error AS error
  FROM judge_batches FINAL`;

interface ChunkRow extends Omit<BatchChunk, 'intendedAtMs' | 'status'> {
  readonly intendedAtMs: string;
  readonly status: string;
}

function fromChunkRow(row: ChunkRow): BatchChunk {
  return { ...row, status: row.status as ChunkStatus, intendedAtMs: Number(row.intendedAtMs) };
}

function toChunkRow(chunk: BatchChunk): object {
  const rank = BigInt(CHUNK_STATUSES.indexOf(chunk.status));
  return {
    Chunk: chunk.id,
    JobId: chunk.jobId,
    Provider: chunk.provider,
    Status: chunk.status,
    Requests: chunk.requests,
    IntendedAt: toDateTime(chunk.intendedAtMs),
    BatchId: chunk.batchId,
    InputFileId: chunk.inputFileId,
    OutputFileId: chunk.outputFileId,
    ErrorFileId: chunk.errorFileId,
    Error: chunk.error,
    Version: String(rank * STATUS_STEP + BigInt(Date.now())),
  };
}

const REQUEST_COLUMNS = `
  CustomId AS customId, Chunk AS chunk, JobId AS jobId, Tenant AS tenant, TraceId AS traceId, SessionId AS sessionId, ScoreId AS scoreId,
  Rule AS rule, Model AS model, Status AS status, Try AS tries, EstimatedUsd AS estimatedUsd, CostUsd AS costUsd,
  toString(Version) AS version`;

type RequestRow = Omit<BatchRequestRow, 'version'> & { readonly version: string };

function fromRequestRow({ version, ...row }: RequestRow): BatchRequestRow {
  return { ...row, version: Number(version) };
}

function toRequestRow(request: BatchRequest): object {
  return {
    CustomId: request.customId,
    Chunk: request.chunk,
    JobId: request.jobId,
    Tenant: request.tenant,
    TraceId: request.traceId,
    SessionId: request.sessionId,
    ScoreId: request.scoreId,
    Rule: request.rule,
    Model: request.model,
    Status: request.status,
    Try: request.tries,
    Body: request.body,
    ReplyStatus: request.replyStatus,
    Reply: request.reply,
    EstimatedUsd: request.estimatedUsd,
    CostUsd: request.costUsd,
    Version: String(request.version),
  };
}
