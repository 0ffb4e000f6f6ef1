/** An answer that was good, as it came. */
interface CachedReply {
  readonly text: string;
  readonly modelId: string | undefined;
}

/** Good answers by question, and the questions being asked right now. */
export interface ReplyCache {
  get(key: string): CachedReply | undefined;
  set(key: string, reply: CachedReply): void;
  readonly inFlight: Map<string, Promise<void>>;
}

/** Keeps at most `maxEntries` answers with together at most `maxChars` characters, the least recently used go first. */
export function createReplyCache(limits: { maxEntries: number; maxChars: number }): ReplyCache {
  const entries = new Map<string, CachedReply>();
  let chars = 0;

  function remove(key: string): void {
    chars -= entries.get(key)?.text.length ?? 0;
    entries.delete(key);
  }

  return {
    inFlight: new Map(),
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
