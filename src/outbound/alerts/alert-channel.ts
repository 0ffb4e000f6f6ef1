import type { AlertEvent } from '../../monitors/alert-event.ts';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { Post, PostReply, PostRequest } from '../http/guarded-post.ts';

/** Beginnings or ends of incidents that go out together: never both kinds, never an empty one. */
export interface AlertMessage {
  /** The id of its first event: the same for every repeat. */
  readonly id: string;
  readonly events: readonly AlertEvent[];
}

/** Result of one delivery attempt. */
export type AlertOutcome =
  | { readonly kind: 'delivered' }
  /** The receiver will never take this message. */
  | { readonly kind: 'refused'; readonly error: AppError }
  /** Another attempt may succeed; `isAway`: it would fail for every other message too, for now. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly isAway: boolean };

/** One place where people are told. */
export interface AlertChannel {
  /** Under this name it is recorded what was told; never to change for a place, or it is told again. */
  readonly name: string;
  /** Most events in one message; 1: it groups by itself or not at all. */
  readonly maxEvents: number;
  /** One attempt; at least once, with ids by which the receiver can tell a repeat. Never throws. */
  send(message: AlertMessage, signal: AbortSignal): Promise<AlertOutcome>;
  /** Present where the receiver forgets what it is not reminded of. */
  readonly reminders?: AlertReminders;
}

export interface AlertReminders {
  readonly everyMs: number;
  /** Time for which ended incidents are repeated, milliseconds. */
  readonly resolvedForMs: number;
  /** Tells the state of all incidents again. Never throws. */
  send(events: readonly AlertEvent[], signal: AbortSignal): Promise<AlertOutcome>;
}

/** Links that alerts carry. */
export interface AlertLinks {
  /** Address of a trace; `{traceId}` stands for its id. */
  readonly traceUrl?: string | undefined;
}

/** Dependencies of a channel. */
export interface ChannelDeps {
  readonly post: Post;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const MAX_QUOTE_CHARS = 200;

/** Posts, and reads the reply: 408, 429 and 5xx can be tried again, other 4xx cannot. A redirect is somebody in between. */
export async function attempt(request: PostRequest, post: Post, signal: AbortSignal): Promise<AlertOutcome> {
  try {
    const reply = await post(
      { ...request, headers: { 'content-type': 'application/json', ...request.headers } },
      signal,
    );
    return classifyReply(reply, new URL(request.url).origin);
  } catch (error) {
    const failure =
      error instanceof AppError
        ? error
        : new AppError(readErrorMessage(error), {
            code: 'bug',
            stage: 'alert',
            retryable: true,
            cause: error,
          });
    return { kind: 'failed', error: failure, isAway: true };
  }
}

function classifyReply({ status, retryAfterMs, text }: PostReply, origin: string): AlertOutcome {
  if (status >= 200 && status < 300) {
    return { kind: 'delivered' };
  }
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const said = text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_QUOTE_CHARS).toWellFormed();
  const what =
    status >= 300 && status < 400 ? ' (redirects are not followed)' : said === '' ? '' : `: ${said}`;
  const error = new AppError(`${origin} answered HTTP ${status}${what}`, {
    code: 'delivery_failed',
    stage: 'alert',
    retryable: !isFinal,
    retryAfterMs,
  });
  return isFinal
    ? { kind: 'refused', error }
    : { kind: 'failed', error, isAway: status === 429 || retryAfterMs !== undefined };
}
