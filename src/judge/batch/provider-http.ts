import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { z } from 'zod';
import { readErrorMessage } from '../../domain/errors.ts';
import { JudgeError, quoteText } from '../judge-error.ts';

/** Longest time of a request without a file, milliseconds. */
const REQUEST_MS = 60_000;

/** Longest time of the transfer of a file, milliseconds. */
const TRANSFER_MS = 600_000;

/** Entries of a page of a list. */
const PAGE = 100;

/** Provider with an API for batches. */
export interface BatchProvider {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey: string | undefined;
}

interface Sent {
  readonly body?: Body;
  /** True for the transfer of a file. */
  readonly isTransfer?: boolean;
}

interface Body {
  readonly bytes: ArrayBuffer | string;
  /** Value of the header `content-type`. */
  readonly type: string;
}

/**
 * Encodes a form. Sent as a stream, as `fetch` does by itself, it ends in an unhandled rejection when the request is aborted
 * before its first byte.
 */
export async function encodeForm(form: FormData): Promise<Body> {
  const encoded = new Response(form);
  return { bytes: await encoded.arrayBuffer(), type: encoded.headers.get('content-type') ?? '' };
}

/** HTTP of a provider. Every method throws a `JudgeError`. */
export class ProviderHttp {
  readonly #provider: BatchProvider;
  readonly #fetch: typeof globalThis.fetch;
  readonly #signal: AbortSignal;

  /** @param signal aborts the requests */
  constructor(provider: BatchProvider, fetch: typeof globalThis.fetch, signal: AbortSignal) {
    this.#provider = provider;
    this.#fetch = fetch;
    this.#signal = signal;
  }

  /** Reads a reply; undefined for 404. */
  async ask<T>(schema: z.ZodType<T>, method: string, path: string, sent: Sent = {}): Promise<T | undefined> {
    const response = await this.#send(method, path, sent);
    if (response === undefined) {
      return undefined;
    }
    try {
      return schema.parse(await response.json());
    } catch (cause) {
      throw this.#fail(`sent a reply to ${method} ${path} that cannot be read: ${readErrorMessage(cause)}`, {
        cause,
      });
    }
  }

  /** Reads a reply; 404 is a failure, too. */
  async require<T>(schema: z.ZodType<T>, method: string, path: string, sent?: Sent): Promise<T> {
    const value = await this.ask(schema, method, path, sent);
    if (value === undefined) {
      throw this.#fail(`answered 404 to ${method} ${path}`, { details: { status: 404 } });
    }
    return value;
  }

  /** Reads all pages of a list. */
  async *list<T extends { readonly id: string }>(item: z.ZodType<T>, path: string): AsyncGenerator<T> {
    const schema = z.looseObject({ data: z.array(item), has_more: z.boolean().optional() });
    for (let after = ''; ;) {
      const query = `limit=${PAGE}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`;
      const page = await this.require(schema, 'GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
      yield* page.data;
      const last = page.data.at(-1);
      if (page.has_more !== true || last === undefined) {
        return;
      }
      after = last.id;
    }
  }

  /** Reads a text line by line; undefined for 404. */
  async readLines(path: string): Promise<AsyncIterable<string> | undefined> {
    const response = await this.#send('GET', path, { isTransfer: true });
    return response === undefined || response.body === null
      ? undefined
      : this.#splitLines(response.body as NodeReadableStream<Uint8Array>);
  }

  async *#splitLines(body: NodeReadableStream<Uint8Array>): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of body) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        yield* lines;
      }
    } catch (cause) {
      throw this.#fail(`broke off a file: ${readErrorMessage(cause)}`, { cause });
    }
    yield rest;
  }

  /** Sends a request. Returns undefined for 404. */
  async #send(
    method: string,
    path: string,
    { body, isTransfer = false }: Sent,
  ): Promise<Response | undefined> {
    const { baseURL, apiKey } = this.#provider;
    const timeout = AbortSignal.timeout(isTransfer ? TRANSFER_MS : REQUEST_MS);
    let response: Response;
    try {
      response = await this.#fetch(`${baseURL}${path}`, {
        method,
        ...(body === undefined ? {} : { body: body.bytes }),
        // After a redirect, the key and the prompts would go to another server.
        redirect: 'manual',
        headers: {
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(body === undefined ? {} : { 'content-type': body.type }),
        },
        signal: AbortSignal.any([this.#signal, timeout]),
      });
    } catch (cause) {
      throw this.#fail(`could not be reached for ${method} ${path}: ${readErrorMessage(cause)}`, { cause });
    }
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      const said = quoteText(await response.text().catch(() => ''));
      throw this.#fail(`answered ${response.status} to ${method} ${path}: ${said}`, {
        details: { status: response.status },
        kind: `HTTP ${response.status}`,
      });
    }
    return response;
  }

  #fail(what: string, options: ConstructorParameters<typeof JudgeError>[2] = {}): JudgeError {
    return new JudgeError('judge_unavailable', `judge provider "${this.#provider.name}" ${what}`, options);
  }
}
