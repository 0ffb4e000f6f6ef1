import { z } from 'zod';
import { JudgeError, quoteText } from '../judge-error.ts';
import { encodeForm, ProviderHttp, type BatchProvider } from './provider-http.ts';

const fileId = z
  .string()
  .nullish()
  .transform((id) => id ?? '');

/** A batch as the provider describes it (https://platform.openai.com/docs/api-reference/batch/object). */
const batchSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  input_file_id: fileId,
  output_file_id: fileId,
  error_file_id: fileId,
  created_at: z.number().optional(),
  metadata: z
    .record(z.string(), z.string())
    .nullish()
    .transform((metadata) => metadata ?? {}),
  errors: z
    .looseObject({ data: z.array(z.looseObject({ message: z.string().nullish() })).nullish() })
    .nullish(),
});

const fileSchema = z.looseObject({ id: z.string(), filename: z.string().optional() });

/** Batch at the provider. */
export interface ProviderBatch {
  readonly id: string;
  /** `validating`, `in_progress`, `finalizing`, `completed`, `failed`, `expired`, `cancelling`, `cancelled`. */
  readonly status: string;
  readonly inputFileId: string;
  readonly outputFileId: string;
  readonly errorFileId: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Failure of the whole batch; '' without one. */
  readonly error: string;
}

/** Statuses of a batch that has ended. */
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** Returns true for a batch that changes no more. */
export function hasEnded({ status }: ProviderBatch): boolean {
  return ENDED.has(status);
}

/** Returns true for a batch that is being cancelled, or has ended. */
export function isEnding(batch: ProviderBatch): boolean {
  return batch.status === 'cancelling' || hasEnded(batch);
}

/**
 * Client of OpenAI's Batch API. Every method throws a `JudgeError`: `judge_unavailable` also when the request may have been done.
 */
export interface BatchClient {
  /** Uploads the requests of a batch. Returns the id of the file. */
  upload(name: string, lines: string): Promise<string>;
  /** Finds files of this name. */
  findFiles(name: string): Promise<string[]>;
  /** Returns the lines of a file; undefined for an unknown one. */
  readLines(fileId: string): Promise<AsyncIterable<string> | undefined>;
  /** Deletes a file. An unknown one counts as deleted. */
  deleteFile(fileId: string): Promise<void>;
  create(inputFileId: string, metadata: Readonly<Record<string, string>>): Promise<ProviderBatch>;
  /** Undefined for an unknown batch. */
  read(batchId: string): Promise<ProviderBatch | undefined>;
  /** Finds the batches whose metadata has this value. */
  findBatches(key: string, value: string): Promise<ProviderBatch[]>;
  /** Asks for the end of a batch. One that has ended stays as it is. */
  cancel(batchId: string): Promise<void>;
}

/** Path of the requests of a batch. */
export const BATCH_ENDPOINT = '/v1/chat/completions';

/** @param signal aborts the requests */
export function createBatchClient(
  provider: BatchProvider,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): BatchClient {
  const http = new ProviderHttp(provider, fetch, signal);
  return { ...createFileCalls(http), ...createBatchCalls(http) };
}

type FileCall = 'upload' | 'findFiles' | 'readLines' | 'deleteFile';

function createFileCalls(http: ProviderHttp): Pick<BatchClient, FileCall> {
  return {
    async upload(fileName, lines) {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([lines], { type: 'application/jsonl' }), fileName);
      const body = await encodeForm(form);
      const file = await http.require(fileSchema, 'POST', '/files', { body, isTransfer: true });
      return file.id;
    },
    async findFiles(fileName) {
      const found: string[] = [];
      for await (const file of http.list(fileSchema, '/files?purpose=batch')) {
        found.push(...(file.filename === fileName ? [file.id] : []));
      }
      return found;
    },
    readLines: (id) => http.readLines(`/files/${encodeURIComponent(id)}/content`),
    async deleteFile(id) {
      await http.ask(z.unknown(), 'DELETE', `/files/${encodeURIComponent(id)}`);
    },
  };
}

function createBatchCalls(http: ProviderHttp): Omit<BatchClient, FileCall> {
  const pathOf = (id: string) => `/batches/${encodeURIComponent(id)}`;
  return {
    async create(inputFileId, metadata) {
      const bytes = JSON.stringify({
        input_file_id: inputFileId,
        endpoint: BATCH_ENDPOINT,
        completion_window: '24h',
        metadata,
      });
      const body = { bytes, type: 'application/json' };
      return toBatch(await http.require(batchSchema, 'POST', '/batches', { body }));
    },
    async read(id) {
      const batch = await http.ask(batchSchema, 'GET', pathOf(id));
      return batch === undefined ? undefined : toBatch(batch);
    },
    async findBatches(key, value) {
      const found: ProviderBatch[] = [];
      for await (const batch of http.list(batchSchema, '/batches')) {
        found.push(...(batch.metadata[key] === value ? [toBatch(batch)] : []));
      }
      return found;
    },
    async cancel(id) {
      try {
        await http.ask(z.unknown(), 'POST', `${pathOf(id)}/cancel`);
      } catch (error) {
        // The batch has ended meanwhile.
        if (!(error instanceof JudgeError) || ![400, 409].includes(Number(error.details['status']))) {
          throw error;
        }
      }
    },
  };
}

function toBatch(batch: z.output<typeof batchSchema>): ProviderBatch {
  const errors = (batch.errors?.data ?? []).flatMap(({ message }) => message ?? []);
  return {
    id: batch.id,
    status: batch.status,
    inputFileId: batch.input_file_id,
    outputFileId: batch.output_file_id,
    errorFileId: batch.error_file_id,
    metadata: batch.metadata,
    error: quoteText([...new Set(errors)].join('; ')),
  };
}
