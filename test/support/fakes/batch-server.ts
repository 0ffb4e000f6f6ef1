import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { startJudgeServer, type JudgeScript, type JudgeServer } from './judge-server.ts';

/** Batch at the server. */
export interface ServedBatch {
  readonly id: string;
  status: string;
  readonly inputFileId: string;
  outputFileId: string;
  errorFileId: string;
  readonly metadata: Record<string, string>;
  readonly customIds: readonly string[];
  /** Ids of the questions that were answered, which cost money. */
  readonly paid: string[];
}

/** End of a batch. */
export interface BatchEnding {
  /** Default `completed`. */
  readonly status?: 'completed' | 'expired' | 'failed';
  /** Returns what becomes of a question: answered (default), an error in the error file, an HTTP status, no line, or a broken line. */
  readonly line?: (customId: string, index: number) => LineFate;
}
export type LineFate = 'answer' | 'expire' | 'omit' | 'garbage' | { readonly httpStatus: number };

/** Call of a client. */
export interface BatchServerCall {
  /** `POST /files`, `GET /batches/{id}`, … */
  readonly name: string;
  /** Number of the call of this name, from 1. */
  readonly count: number;
}

/**
 * Fault of a call: `refused` and `lost-reply` answer 500, without and with the work done; `broken` resets the connection after the
 * work; a status is answered without the work done.
 */
export type CallFault = 'refused' | 'lost-reply' | 'broken' | { readonly status: number } | undefined;

export interface BatchServer {
  /** URL that ends in `/v1`, for a provider's `baseURL`. */
  readonly baseUrl: string;
  /** Judge that answers the questions, also online. */
  readonly judge: JudgeServer;
  readonly batches: readonly ServedBatch[];
  /** Files that are not deleted, by id. */
  readonly files: ReadonlyMap<string, { readonly name: string; readonly text: string }>;
  readonly calls: readonly BatchServerCall[];
  /** Returns the fault of a call; awaited before the call is served. */
  fault: (call: BatchServerCall) => CallFault | Promise<CallFault>;
  /** Returns how a batch ends; awaited, so that a test can hold it. Undefined: it goes on. */
  end: (batch: ServedBatch, index: number) => BatchEnding | undefined;
  /** Lists the ids of the questions that were answered, once for each answer. */
  paid(): string[];
  close(): Promise<void>;
}

interface Served {
  readonly status: number;
  readonly body: unknown;
}

/** Starts a server of OpenAI's Batch API on loopback. The judge's script answers the questions. */
export async function startBatchServer(script: JudgeScript): Promise<BatchServer> {
  const judge = await startJudgeServer(script);
  const state = new State(judge);
  const server = createServer((request, response) => void serve(state, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async close() {
      await judge.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  });
}

class State {
  readonly judge: JudgeServer;
  readonly batches: ServedBatch[] = [];
  readonly files = new Map<string, { name: string; text: string }>();
  readonly calls: BatchServerCall[] = [];
  fault: BatchServer['fault'] = () => undefined;
  end: BatchServer['end'] = () => ({});
  #lastId = 0;

  constructor(judge: JudgeServer) {
    this.judge = judge;
  }

  paid(): string[] {
    return this.batches.flatMap((batch) => batch.paid);
  }

  count(name: string): BatchServerCall {
    const call = { name, count: this.calls.filter((each) => each.name === name).length + 1 };
    this.calls.push(call);
    return call;
  }

  addFile(name: string, text: string): string {
    const id = `file-${++this.#lastId}`;
    this.files.set(id, { name, text });
    return id;
  }

  create(body: { input_file_id: string; metadata: Record<string, string> }): Served {
    const file = this.files.get(body.input_file_id);
    if (file === undefined) {
      return { status: 400, body: { error: { message: 'no such file' } } };
    }
    const batch: ServedBatch = {
      id: `batch_${++this.#lastId}`,
      status: 'validating',
      inputFileId: body.input_file_id,
      outputFileId: '',
      errorFileId: '',
      metadata: body.metadata,
      customIds: readLines(file.text).map(({ custom_id: customId }) => customId),
      paid: [],
    };
    this.batches.push(batch);
    return { status: 200, body: show(batch) };
  }

  /** Takes a batch one step further, as time would. */
  async advance(batch: ServedBatch): Promise<void> {
    if (batch.status === 'validating') {
      batch.status = 'in_progress';
      return;
    }
    const ending = batch.status === 'cancelling' ? {} : this.end(batch, this.batches.indexOf(batch));
    if ((batch.status === 'in_progress' && ending !== undefined) || batch.status === 'cancelling') {
      await this.#finish(batch, ending ?? {});
    }
  }

  async #finish(
    batch: ServedBatch,
    { status = 'completed', line = () => 'answer' }: BatchEnding,
  ): Promise<void> {
    const isCancelled = batch.status === 'cancelling';
    batch.status = 'finalizing';
    const [output, errors]: [string[], string[]] = [[], []];
    const requests = status === 'failed' ? [] : readLines(this.files.get(batch.inputFileId)?.text ?? '');
    for (const [index, { custom_id: customId, body }] of requests.entries()) {
      // Of a cancelled batch, every other question was answered before.
      const fate = isCancelled && index % 2 === 1 ? 'omit' : line(customId, index);
      if (fate === 'answer') {
        const response = await this.#ask(body);
        batch.paid.push(customId);
        output.push(JSON.stringify({ id: `r-${index}`, custom_id: customId, response, error: null }));
      } else if (fate === 'expire') {
        const error = { code: 'batch_expired', message: 'This request could not be executed in time.' };
        errors.push(JSON.stringify({ id: `r-${index}`, custom_id: customId, response: null, error }));
      } else if (fate === 'garbage') {
        batch.paid.push(customId);
        output.push(`{"id":"r-${index}","custom_id":"${customId}","respo`);
      } else if (fate !== 'omit') {
        const response = { status_code: fate.httpStatus, body: { error: { message: 'it failed' } } };
        errors.push(JSON.stringify({ id: `r-${index}`, custom_id: customId, response, error: null }));
      }
    }
    batch.outputFileId = output.length === 0 ? '' : this.addFile('output.jsonl', `${output.join('\n')}\n`);
    batch.errorFileId = errors.length === 0 ? '' : this.addFile('errors.jsonl', `${errors.join('\n')}\n`);
    batch.status = isCancelled ? 'cancelled' : status;
  }

  async #ask(body: unknown): Promise<object> {
    const response = await fetch(`${this.judge.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return { status_code: response.status, request_id: 'r', body: await response.json() };
  }
}

function readLines(text: string): { custom_id: string; body: unknown }[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { custom_id: string; body: unknown });
}

function show(batch: ServedBatch): object {
  return {
    id: batch.id,
    object: 'batch',
    endpoint: '/v1/chat/completions',
    status: batch.status,
    input_file_id: batch.inputFileId,
    output_file_id: batch.outputFileId === '' ? null : batch.outputFileId,
    error_file_id: batch.errorFileId === '' ? null : batch.errorFileId,
    metadata: batch.metadata,
    errors:
      batch.status === 'failed'
        ? { object: 'list', data: [{ message: 'the file is invalid', line: 1 }] }
        : null,
  };
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request).catch(() => undefined);
  if (body === undefined) {
    return;
  }
  const url = new URL(request.url ?? '', 'http://server');
  const [kind = '', id = '', action = ''] = url.pathname.replace('/v1/', '').split('/');
  const name = `${request.method} /${kind}${id === '' ? '' : '/{id}'}${action === '' ? '' : `/${action}`}`;
  const fault = await state.fault(state.count(name));
  if (fault === 'refused' || typeof fault === 'object') {
    const { status } = fault === 'refused' ? { status: 500 } : fault;
    reply(response, { status, body: { error: { message: 'try later' } } });
    return;
  }
  const served = await answer(state, {
    name,
    id,
    url,
    body,
    contentType: request.headers['content-type'] ?? '',
  });
  if (fault === 'broken') {
    response.destroy();
    return;
  }
  reply(
    response,
    fault === 'lost-reply' ? { status: 500, body: { error: { message: 'try later' } } } : served,
  );
}

function reply(response: ServerResponse, { status, body }: Served): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'application/jsonl' : 'application/json',
  });
  response.end(text);
}

const NOT_FOUND: Served = { status: 404, body: { error: { message: 'no such thing' } } };

interface Asked {
  readonly name: string;
  readonly id: string;
  readonly url: URL;
  readonly body: Buffer;
  readonly contentType: string;
}

async function answer(state: State, { name, id, url, body, contentType }: Asked): Promise<Served> {
  const batch = state.batches.find((each) => each.id === id);
  const file = state.files.get(id);
  switch (name) {
    case 'POST /files': {
      const form = await new Response(new Uint8Array(body), {
        headers: { 'content-type': contentType },
      }).formData();
      const sent = form.get('file');
      if (form.get('purpose') !== 'batch' || !(sent instanceof File)) {
        return { status: 400, body: { error: { message: 'a file for batches is needed' } } };
      }
      return { status: 200, body: { id: state.addFile(sent.name, await sent.text()), filename: sent.name } };
    }
    case 'GET /files':
      return list(
        url,
        [...state.files].map(([fileId, { name: filename }]) => ({ id: fileId, filename })),
      );
    case 'GET /files/{id}/content':
      return file === undefined ? NOT_FOUND : { status: 200, body: file.text };
    case 'DELETE /files/{id}':
      return state.files.delete(id) ? { status: 200, body: { id, deleted: true } } : NOT_FOUND;
    case 'POST /batches':
      return state.create(JSON.parse(body.toString()) as Parameters<State['create']>[0]);
    case 'GET /batches':
      return list(url, state.batches.toReversed().map(show) as { id: string }[]);
    case 'GET /batches/{id}':
      if (batch === undefined) {
        return NOT_FOUND;
      }
      await state.advance(batch);
      return { status: 200, body: show(batch) };
    case 'POST /batches/{id}/cancel':
      if (batch === undefined) {
        return NOT_FOUND;
      }
      if (!['validating', 'in_progress'].includes(batch.status)) {
        return { status: 409, body: { error: { message: `the batch is ${batch.status}` } } };
      }
      batch.status = 'cancelling';
      return { status: 200, body: show(batch) };
    default:
      return NOT_FOUND;
  }
}

/** Pages of two, so that a client has to turn them. */
function list(url: URL, items: readonly { readonly id: string }[]): Served {
  const after = url.searchParams.get('after');
  const start = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1;
  const data = items.slice(start, start + 2);
  return { status: 200, body: { object: 'list', data, has_more: start + 2 < items.length } };
}
