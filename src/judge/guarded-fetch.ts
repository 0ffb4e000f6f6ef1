import { JudgeError } from './judge-error.ts';

export interface ReplyLimits {
  /** Largest reply body after decompression. */
  readonly maxReplyBytes: number;
  /** Longest silence between two pieces of a reply body. */
  readonly idleTimeoutMs: number;
}

/**
 * `fetch` that follows no redirect (the key and the prompt would go elsewhere) and ends a reply that is too large or falls
 * silent. The deadline of the whole call is its abort signal's.
 */
export function createGuardedFetch(
  limits: ReplyLimits,
  deps: { readonly fetch: typeof globalThis.fetch },
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await deps.fetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) {
      return response;
    }
    return new Response(guardBody(response.body, limits), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function guardBody(body: ReadableStream<Uint8Array>, limits: ReplyLimits): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await readInTime(reader, limits.idleTimeoutMs);
        if (done || value === undefined) {
          controller.close();
          return;
        }
        bytes += value.byteLength;
        if (bytes > limits.maxReplyBytes) {
          throw new JudgeError(
            'judge_malformed',
            `the judge's reply is larger than ${limits.maxReplyBytes} bytes`,
          );
        }
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await cancelQuietly(reader, error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function readInTime(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleTimeoutMs: number,
): Promise<{ done: boolean; value?: Uint8Array | undefined }> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new JudgeError('judge_timeout', `the judge's reply fell silent for ${idleTimeoutMs} ms`)),
    idleTimeoutMs,
  );
  try {
    return await Promise.race([reader.read(), promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The stream has its error already; that cancelling a broken source fails too tells nothing new. */
async function cancelQuietly(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reason: unknown,
): Promise<void> {
  await reader.cancel(reason).catch(() => undefined);
}
