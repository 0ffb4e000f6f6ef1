import { JudgeError } from './judge-error.ts';

export interface ReplyLimits {
  /** Largest size of a reply body after decompression, bytes. */
  readonly maxReplyBytes: number;
}

/**
 * Creates a `fetch` that follows no redirect (the key and the prompt would go to another server). It also ends a reply that is
 * too large. The deadline of the whole call comes from its abort signal.
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
        const { done, value } = await reader.read();
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

/** The stream has failed already, so an error of the cancellation adds nothing. */
async function cancelQuietly(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reason: unknown,
): Promise<void> {
  await reader.cancel(reason).catch(() => undefined);
}
