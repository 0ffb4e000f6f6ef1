import type { IncomingMessage } from 'node:http';
import { InvalidInputError, readErrorMessage } from '../domain/errors.ts';

/** Longest body that is read. */
const MAX_BYTES = 64 * 1024;

/**
 * The body of a request as JSON. To be called before anything else is waited for: bodies that nobody reads are let go.
 * Throws `InvalidInputError` for what is too long or no JSON.
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
    throw new InvalidInputError(`the body has ${size} bytes; at most ${MAX_BYTES} are read`);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch (error) {
    throw new InvalidInputError(`the body is no JSON: ${readErrorMessage(error)}`, {}, error);
  }
}
