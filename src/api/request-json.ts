import type { IncomingMessage } from 'node:http';
import { InvalidInputError, readErrorMessage } from '../domain/errors.ts';

/** Longest accepted body, bytes. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the body of a request as JSON. Must be called before the handler waits for anything else, because unread bodies are
 * dropped. Throws an `InvalidInputError` for a body that is too long or no JSON.
 */
export async function requestJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BYTES) {
      chunks.push(chunk);
    }
  }
  if (size > MAX_BYTES) {
    throw new InvalidInputError(`the body has ${size} bytes; the limit is ${MAX_BYTES}`);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch (error) {
    throw new InvalidInputError(`the body is no JSON: ${readErrorMessage(error)}`, {}, error);
  }
}
