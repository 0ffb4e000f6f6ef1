import type { NormalMessage } from '../normalised-span.ts';
import { messageKey } from './message-key.ts';

/** The messages that a model call was given, told apart. System messages are in none of the three. */
export interface SplitInput {
  /** Messages before this turn. */
  readonly history: readonly NormalMessage[];
  /** The last block of user messages. */
  readonly turn: readonly NormalMessage[];
  /** Tool calls and results that the agent already made in this turn, after its user messages. */
  readonly inFlight: readonly NormalMessage[];
}

/**
 * The turn is the last block of user messages. What follows it belongs to the turn only when it ends with a tool result
 * that the model is to go on from; a list that ends with the assistant speaking is all history.
 */
export function splitInput(messages: readonly NormalMessage[] = []): SplitInput {
  const split = splits.get(messages) ?? splitMessages(messages);
  splits.set(messages, split);
  return split;
}

/** One input may be that of thousands of calls. */
const splits = new WeakMap<readonly NormalMessage[], SplitInput>();

function splitMessages(messages: readonly NormalMessage[]): SplitInput {
  const spoken = messages.filter((message) => message.role !== 'system');
  let end = spoken.length;
  while (end > 0 && spoken[end - 1]?.role !== 'user') {
    end--;
  }
  let start = end;
  while (start > 0 && spoken[start - 1]?.role === 'user') {
    start--;
  }
  const after = spoken.slice(end);
  const goesOn = after.at(-1)?.role === 'tool';
  return {
    history: [...spoken.slice(0, start), ...(goesOn ? [] : after)],
    turn: spoken.slice(start, end),
    inFlight: goesOn ? after : [],
  };
}

/** `messages` less those of `taken`, counted, from the end: a question asked twice leaves its first asking. */
export function subtract(
  messages: readonly NormalMessage[],
  taken: readonly NormalMessage[],
): NormalMessage[] {
  const counts = new Map<string, number>();
  for (const message of taken) {
    const key = messageKey(message);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const left = messages.toReversed().filter((message) => {
    const key = messageKey(message);
    const count = counts.get(key) ?? 0;
    counts.set(key, count - 1);
    return count <= 0;
  });
  return left.toReversed();
}
