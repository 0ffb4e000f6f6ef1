import type { AlertEvent } from '../../monitors/alert-event.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import type { Post, PostReply, PostRequest } from '../http/guarded-post.ts';

/** One message: beginnings or ends of incidents; never both kinds, never none. */
export interface AlertMessage {
  /** Id of the first event; the same in every repeat. */
  readonly id: string;
  readonly events: readonly AlertEvent[];
}

/** Result of one delivery attempt. */
export type AlertOutcome =
  | { readonly kind: 'delivered' }
  /** The receiver will never accept this message. */
  | { readonly kind: 'refused'; readonly error: AppError }
  /** Another attempt may succeed. `isAway`: for now, every other message would fail too. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly isAway: boolean };

/** One receiver of alerts. */
export interface AlertChannel {
  /** Name under which deliveries are recorded. It must stay the same for a receiver; a new name sends its alerts again. */
  readonly name: string;
  /** Most events in one message; 1 when the receiver groups by itself or not at all. */
  readonly maxEvents: number;
  /**
   * Makes one attempt. Messages are delivered at least once, with ids by which the receiver can recognise a repeat. Never
   * throws.
   */
  send(message: AlertMessage, signal: AbortSignal): Promise<AlertOutcome>;
  /** Present where the receiver drops an alert that is not repeated. */
  readonly reminders?: AlertReminders;
}

interface AlertReminders {
  readonly everyMs: number;
  /** Time for which an ended incident is repeated, milliseconds. */
  readonly resolvedForMs: number;
  /** Sends the state of all incidents again. Never throws. */
  send(events: readonly AlertEvent[], signal: AbortSignal): Promise<AlertOutcome>;
}

/** Links in alerts. */
export interface AlertLinks {
  /** Address of the dashboard, without a slash at its end. Absent: no links. */
  readonly publicUrl?: string | undefined;
}

/** Dependencies of a channel. */
export interface ChannelDeps {
  readonly post: Post;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const MAX_QUOTE_CHARS = 200;

/**
 * Posts a message and reads the reply. 408, 429 and 5xx can be retried, other 4xx cannot. A redirect comes from a proxy and can
 * be retried.
 */
export async function attempt(request: PostRequest, post: Post, signal: AbortSignal): Promise<AlertOutcome> {
  try {
    const reply = await post(
      { ...request, headers: { 'content-type': 'application/json', ...request.headers } },
      signal,
    );
    return classifyReply(reply, new URL(request.url).origin);
  } catch (error) {
    const failure = toAppError(error, { stage: 'alert', retryable: true });
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
