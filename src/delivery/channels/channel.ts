import type { z } from 'zod';
import { createAddressPolicy } from '../../config/addresses/private-addresses.ts';
import type { AlertTerms, ChannelSection } from '../../config/schema/components.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { sha256Hex } from '../../domain/identity.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { Outcome } from '../deliver.ts';
import { createGuardedPost, type Post, type PostReply, type PostRequest } from '../http/guarded-post.ts';

/** One message: beginnings or ends of incidents; never both kinds, never none. */
export interface AlertMessage {
  /** Id of the first event; the same in every repeat. */
  readonly id: string;
  readonly events: readonly AlertEvent[];
}

export interface AlertChannel {
  /** Name under which deliveries are recorded. It must stay the same for a receiver; a new name sends its alerts again. */
  readonly name: string;
  /** Most events in one message; 1 when the receiver groups by itself or not at all. */
  readonly maxEvents: number;
  /**
   * Makes one attempt. Messages are delivered at least once, with ids by which the receiver can recognise a repeat. Never
   * throws.
   */
  send(message: AlertMessage, signal: AbortSignal): Promise<Outcome>;
  /** Present where the receiver drops an alert that is not repeated. */
  readonly reminders?: {
    readonly everyMs: number;
    /** Time for which an ended incident is repeated, milliseconds. */
    readonly resolvedForMs: number;
    /** Sends the state of all incidents again. Never throws. */
    send(events: readonly AlertEvent[], signal: AbortSignal): Promise<Outcome>;
  };
}

export interface AlertLinks {
  /** Address of the dashboard, without a slash at its end. Absent: no links. */
  readonly publicUrl?: string | undefined;
}

export interface ChannelParts extends AlertLinks {
  readonly name: string;
  readonly post: Post;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Kind of alert channel, with the options of its entries. */
interface ChannelKind<Name extends string, Options extends z.ZodArray> extends ChannelSection<Name, Options> {
  open(entry: z.infer<Options>[number], parts: ChannelParts): AlertChannel;
}

export interface ChannelDefinition<
  Name extends string = string,
  Options extends z.ZodArray = z.ZodArray,
> extends ChannelKind<Name, Options> {
  create(entries: z.infer<Options>, terms: AlertTerms & AlertLinks): AlertChannel[];
}

const TIMEOUT_MS = 10_000;

/** Defines a channel, which reaches only permitted addresses. Returns the definition with the types of its name and its options. */
export function defineChannel<const Name extends string, Options extends z.ZodArray>(
  kind: ChannelKind<Name, Options>,
): ChannelDefinition<Name, Options> {
  return {
    ...kind,
    create: (entries, { publicUrl, allowAddresses: allowed }) =>
      entries.map((entry) => {
        const { url, name, identity } = kind.readTarget(entry);
        const permits = createAddressPolicy(new URL(url), { allowed, inside: kind.mayBePrivate });
        return kind.open(entry, {
          // An address may be a secret.
          name: `${kind.name}-${name ?? sha256Hex(identity.value).slice(0, 8)}`,
          post: createGuardedPost({ permits, timeoutMs: TIMEOUT_MS }),
          now: Date.now,
          publicUrl,
        });
      }),
  };
}

const MAX_QUOTE_CHARS = 200;

/**
 * Posts a message and reads the reply. 408, 429 and 5xx can be retried, other 4xx cannot. A redirect comes from a proxy and can
 * be retried.
 */
export async function postAlert(request: PostRequest, post: Post, signal: AbortSignal): Promise<Outcome> {
  try {
    const headers = { 'content-type': 'application/json', ...request.headers };
    return classifyReply(await post({ ...request, headers }, signal), new URL(request.url).origin);
  } catch (error) {
    return { kind: 'away', error: toAppError(error, { stage: 'alert', retryable: true }) };
  }
}

function classifyReply({ status, retryAfterMs, text }: PostReply, origin: string): Outcome {
  if (status >= 200 && status < 300) {
    return { kind: 'delivered' };
  }
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const quote = text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_QUOTE_CHARS).toWellFormed();
  const what =
    status >= 300 && status < 400 ? ' (redirects are not followed)' : quote === '' ? '' : `: ${quote}`;
  const error = new AppError(`${origin} answered HTTP ${status}${what}`, {
    code: 'delivery_failed',
    stage: 'alert',
    retryable: !isFinal,
    retryAfterMs,
  });
  if (isFinal) {
    return { kind: 'refused', error };
  }
  return { kind: status === 429 || retryAfterMs !== undefined ? 'away' : 'failed', error };
}
