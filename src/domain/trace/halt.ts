/**
 * A stop that is no failure. `waiting`: the run goes on when a person or another program has answered, or in the graph that called
 * it. `cancelled`: its caller wanted no more of it.
 */
export type Halt = 'waiting' | 'cancelled';

/** Exceptions and words by which frameworks pause a run: letters and digits of the name, in lower case. */
const WAITING = new Set([
  'interrupt',
  'graphinterrupt',
  'nodeinterrupt',
  'graphbubbleup',
  'parentcommand',
  'toolinterrupt',
  'toolinterrupterror',
  'agentinterrupt',
  'humaninterrupt',
  'auth0interrupt',
  'auth0aiinterrupt',
  'interruptexception',
  'breakpointexception',
  'hitlbreakpointexception',
  'humanfeedbackpending',
  'approvalrequired',
  'toolapprovalrequired',
  'calldeferred',
  'userinputrequiredexception',
  'waitingforevent',
  'workflowsuspension',
  'workflowsuspended',
]);

/** Exceptions and words of a caller that cancelled its request. */
const CANCELLED = new Set([
  'cancelled',
  'canceled',
  'cancellederror',
  'cancelederror',
  'cancelerror',
  'cancellationerror',
  'cancellationexception',
  'jobcancellationexception',
  'canceledexception',
  'cancelledexception',
  'operationcanceledexception',
  'operationcancelledexception',
  'operationcancellederror',
  'taskcanceledexception',
  'requestcancellederror',
  'runcancellederror',
  'runcancelledexception',
  'contextcanceled',
  'aborterror',
  'aborterr',
  'errcanceled',
  'apiuseraborterror',
  'requestabortederror',
  'responseaborted',
  'turnaborted',
  'useraborted',
  'usercancelled',
  'usercanceled',
  'clientdisconnect',
  'clientdisconnected',
  'clientdisconnectederror',
  'generatorexit',
  'keyboardinterrupt',
]);

/** Types that say nothing: then the message names the exception. `20` is the code of a browser's `AbortError`. */
const GENERIC = new Set([
  '',
  'error',
  'exception',
  'baseexception',
  'other',
  'unknown',
  'toolerror',
  'domexception',
  '20',
  'errorsstring',
  'errorstring',
]);

/** Messages of a cancelled request whose type is generic. A tool may report that an order was cancelled: only whole messages count. */
const CANCELLED_MESSAGE = new RegExp(
  [
    '^(the |this )?(operation|request|run|stream|generation|task|call|tool call) (was |has been )?(aborted|cancell?ed)( by (the )?(user|client|caller))?\\.?$',
    '^(aborted|cancell?ed) by (the )?(user|client|caller)\\.?$',
    '^(the )?user (has )?(aborted|cancell?ed) (a|the|this) (request|run|operation|turn)\\.?$',
    '^(the )?client (has )?(disconnected|closed (the )?(request|connection))\\.?$',
    '(^|[: ])context canceled$',
  ].join('|'),
  'i',
);

/** Libraries cancel a request that took too long, too: that is a failure. */
const TIMED_OUT = /time[ds]?[ -]?out|deadline/i;

/** Reads a stop from the type and the message of an exception; undefined for a failure. */
export function readHalt(error: {
  readonly type: string | null;
  readonly message: string | null;
}): Halt | undefined {
  const type = plain(lastName(error.type ?? ''));
  const message = lastOfTraceback((error.message ?? '').trim());
  const names = GENERIC.has(type) ? [plain(lastName(leadingName(message)))] : [type];
  if (names.some((name) => WAITING.has(name))) {
    return 'waiting';
  }
  const isCancelled =
    names.some((name) => CANCELLED.has(name)) || (GENERIC.has(type) && CANCELLED_MESSAGE.test(message));
  return isCancelled && !TIMED_OUT.test(message) ? 'cancelled' : undefined;
}

/** Reads a stop from the error of a span, or from the span's own type of error beside a general exception. */
export function readErrorHalt(
  error: { readonly type: string | null; readonly message: string | null },
  ownType: string | undefined,
): Halt | undefined {
  return readHalt(error) ?? (ownType ? readHalt({ ...error, type: ownType }) : undefined);
}

const WAITING_FINISH = new Set(['suspended', 'interrupt', 'interrupted', 'paused', 'pauseturn']);
const CANCELLED_FINISH = new Set(['cancelled', 'canceled', 'abort', 'aborted', 'usercancelled']);

/** Reads a stop from the finish reason of a model call or an agent. */
export function readFinishHalt(finishReason: string): Halt | undefined {
  const name = plain(lastName(finishReason));
  return WAITING_FINISH.has(name) ? 'waiting' : CANCELLED_FINISH.has(name) ? 'cancelled' : undefined;
}

const CUT = new Set([
  'length',
  'maxtokens',
  'maxlength',
  'maxoutputtokens',
  'maxcompletiontokens',
  'maxtokensreached',
  'modellength',
  'tokenlimit',
  'outputlimit',
  'incomplete',
  'modelcontextwindowexceeded',
]);

/** Returns true when a model stopped because its output limit was reached. */
export function isCutFinish(finishReason: string): boolean {
  return CUT.has(plain(lastName(finishReason)));
}

/** Returns the class of a name with its module: `langgraph.errors.GraphInterrupt`, `DOMException [AbortError]`, `<class 'a.B'>`. */
function lastName(name: string): string {
  return /([^.:/\\$'"[\]<> ]+)['"\]>\s]*$/.exec(name)?.[1] ?? '';
}

/** Returns the line of a Python traceback that names the exception. */
function lastOfTraceback(message: string): string {
  return message.startsWith('Traceback') ? (message.split('\n').at(-1) ?? '') : message;
}

/** Returns the name that a message begins with: `GraphInterrupt: …`, `(Interrupt(value=…`, `CancelledError()`. */
function leadingName(message: string): string {
  return /^[\s([]*([A-Za-z_][\w.]*)(?=\s*[:(]|$)/.exec(message)?.[1] ?? '';
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
