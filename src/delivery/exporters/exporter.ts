import type { z } from 'zod';
import type { ExporterSection } from '../../config/schema/components.ts';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import type { Outcome } from '../deliver.ts';
import { retryAfterMs } from '../http/headers.ts';
import { outboundFetch } from '../http/proxies.ts';

export interface ScoreExporter {
  /** Name under which deliveries are recorded. It must stay the same for a receiver; a new name is sent new scores only. */
  readonly name: string;
  /** Most scores in one message. */
  readonly maxBatch: number;
  /** Most messages that are sent at the same time. Default 1. */
  readonly atOnce?: number;
  /** True for a receiver that is told of deleted scores, one in a message. */
  readonly hasDeletions?: boolean;
  /** Attempts to deliver one score that fails while others are delivered, before it becomes a dead letter. */
  readonly attempts: number;
  /** Time for which a score whose trace the receiver does not know is tried again, milliseconds. */
  readonly unknownForMs?: number;
  /**
   * Makes one attempt to send the scores as one message. Scores are sent at least once, with stable ids by which the receiver
   * can recognise a repeat. Never throws.
   */
  send(scores: readonly Score[], signal: AbortSignal): Promise<Outcome>;
}

/** Reads the attributes of the span of a score; undefined while the span is not stored. */
export type ReadSpan = (
  score: Pick<Score, 'tenant' | 'traceId' | 'spanId'>,
) => Promise<Attributes | undefined>;

/** Facts and reads that each exporter gets beside its options. */
export interface ExporterTerms {
  readonly version: string;
  readonly readSpan: ReadSpan;
}

/** Exporter of scores, with its options. */
export interface ExporterDefinition<
  Name extends string = string,
  Options extends z.ZodType = z.ZodType,
> extends ExporterSection<Name, Options> {
  create(options: z.infer<Options>, terms: ExporterTerms): ScoreExporter[];
}

/** Defines an exporter; returns the definition with the types of its name and its options. */
export function defineExporter<const Name extends string, Options extends z.ZodType>(
  definition: ExporterDefinition<Name, Options>,
): ExporterDefinition<Name, Options> {
  return definition;
}

interface ScorePost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Longest time of the attempt, milliseconds. Default 10,000. */
  readonly timeoutMs: number | undefined;
  /** Cause where no reply came in time: `failed` where one slow score may be the cause. */
  readonly atTimeout: 'failed' | 'away';
  /** Beginnings of the error: before a status that confirms nothing, and before the reason why no reply came. */
  readonly answered: string;
  readonly unreached: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Posts JSON. Only 2xx confirms; redirects are not followed. */
export async function postScores(request: ScorePost, signal: AbortSignal): Promise<Outcome> {
  const timeout = AbortSignal.timeout(request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  try {
    const { ok, status, headers, body } = await outboundFetch(request.url, {
      method: 'POST',
      body: request.body,
      headers: { 'user-agent': 'spanscore', ...request.headers, 'content-type': 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    // The reply body is not used; reading it could take long.
    await body?.cancel();
    if (ok) {
      return { kind: 'delivered' };
    }
    const after = { 'retry-after': headers.get('retry-after') ?? undefined };
    const error = deliveryFailed(`${request.answered}HTTP ${status}`, {
      retryAfterMs: retryAfterMs(after, Date.now()),
    });
    if (status === 400 || status === 413 || status === 422) {
      return { kind: 'refused', error };
    }
    return { kind: status === 429 || error.retryAfterMs !== undefined ? 'away' : 'failed', error };
  } catch (cause) {
    const error = deliveryFailed(`${request.unreached}${readErrorMessage(cause)}`, { cause });
    return { kind: timeout.aborted ? request.atTimeout : 'away', error };
  }
}

export function deliveryFailed(
  message: string,
  options: { cause?: unknown; retryAfterMs?: number | undefined } = {},
): AppError {
  return new AppError(message, { code: 'delivery_failed', stage: 'export', retryable: true, ...options });
}
