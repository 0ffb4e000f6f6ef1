import { createRequire } from 'node:module';

/** Used part of kafkajs' queue of requests, one a connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

const require = createRequire(import.meta.url);
let isDone = false;

/**
 * Lets the connections of kafkajs rest while no request waits, for the whole process. kafkajs 2.2.4 sets a timer after every
 * answer, also when there is nothing to look after; that timer lies in the past, of which Node 24 warns on stderr, and sets the
 * next one: a thousand a second on every connection (tulios/kafkajs, issue 1751). A version whose queue is another one stays
 * as it is.
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
    // It is no part of what kafkajs promises to keep.
    return undefined;
  }
  const prototype: unknown = typeof loaded === 'function' ? loaded.prototype : undefined;
  const isKnown =
    typeof prototype === 'object' && prototype !== null && 'scheduleCheckPendingRequests' in prototype;
  return isKnown ? (prototype as RequestQueue) : undefined;
}
