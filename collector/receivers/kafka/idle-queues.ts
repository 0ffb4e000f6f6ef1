import { createRequire } from 'node:module';

/** Used part of the request queue of kafkajs, one for each connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

const require = createRequire(import.meta.url);
let isDone = false;

/**
 * Stops the idle timers of kafkajs for the whole process. kafkajs 2.2.4 sets a timer after every reply, also when no
 * request waits. This timer is in the past, so Node 24 warns on stderr and the timer sets the next one: a thousand a second
 * on every connection (tulios/kafkajs, issue 1751). A version with a different queue is left unchanged.
 */
export function pauseIdleQueues(): void {
  const queue = isDone ? undefined : queuePrototype();
  isDone = true;
  if (queue === undefined) {
    return;
  }
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = function scheduleWherePending() {
    if (this.pending.length > 0) {
      schedule.call(this);
    }
  };
}

function queuePrototype(): RequestQueue | undefined {
  let loaded: unknown;
  try {
    loaded = require('kafkajs/src/network/requestQueue/index.js');
  } catch {
    // The queue is not part of the public interface of kafkajs.
    return undefined;
  }
  const prototype: unknown = typeof loaded === 'function' ? loaded.prototype : undefined;
  const isKnown =
    typeof prototype === 'object' && prototype !== null && 'scheduleCheckPendingRequests' in prototype;
  return isKnown ? (prototype as RequestQueue) : undefined;
}
