/** A usable answer with its text and its model. */
interface CachedReply {
  readonly text: string;
  readonly modelId: string | undefined;
}

/** Usable answers by question, and the questions whose call is running. */
export interface ReplyCache {
  get(key: string): CachedReply | undefined;
  set(key: string, reply: CachedReply): void;
  readonly inFlight: Map<string, Promise<void>>;
}

/** Cache that can forget all answers. */
export interface OwnReplyCache extends ReplyCache {
  clear(): void;
}

/**
 * Creates a cache that keeps at most `maxEntries` answers with together at most `maxChars` characters. The least recently used
 * answers are dropped first.
 */
export function createReplyCache(limits: { maxEntries: number; maxChars: number }): OwnReplyCache {
  const entries = new Map<string, CachedReply>();
  let chars = 0;

  function remove(key: string): void {
    chars -= entries.get(key)?.text.length ?? 0;
    entries.delete(key);
  }

  return {
    inFlight: new Map(),
    clear() {
      entries.clear();
      chars = 0;
    },
    get(key) {
      const found = entries.get(key);
      if (found !== undefined) {
        entries.delete(key);
        entries.set(key, found);
      }
      return found;
    },
    set(key, reply) {
      remove(key);
      if (reply.text.length > limits.maxChars) {
        return;
      }
      entries.set(key, reply);
      chars += reply.text.length;
      for (const oldest of entries.keys()) {
        if (entries.size <= limits.maxEntries && chars <= limits.maxChars) {
          break;
        }
        remove(oldest);
      }
    },
  };
}
