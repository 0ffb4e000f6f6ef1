import { fork, type ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { readConsole } from './guest-console.ts';
import type { FromGuest, ToGuest } from './guest-messages.ts';
import { GUEST_NICE, WATCH_FD } from './child-terms.ts';

/** End of a process. */
export interface GuestExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when it had more memory than its limit. */
  readonly isOutOfMemory: boolean;
  /** The end of what it wrote to standard error. */
  readonly lastWords: string;
}

/** A process of an own scorer. */
export interface GuestProcess {
  readonly pid: number;
  readonly exited: Promise<GuestExit>;
  send(message: ToGuest): void;
  /** Ends it at once. */
  kill(): void;
  /** Keeps this process from ending while somebody waits for the guest, or not any more. */
  setAwaited(isAwaited: boolean): void;
}

export interface GuestProcessOptions {
  /** All that the process finds in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  /** True when the start of the program waits for it: then it lowers its priority only after its module is loaded. */
  readonly isAwaited: boolean;
  readonly onMessage: (message: FromGuest) => void;
  /** Told of each line that the process prints. */
  readonly onLine: (line: string, stream: 'stdout' | 'stderr') => void;
}

/** Time to read the last messages of a dead process, milliseconds: a child of its own may hold its pipes open. */
const LAST_MESSAGES_MS = 500;

const MIB = 1024 * 1024;

const living = new Set<ChildProcess>();
// The threads of the guests see that their host has gone only a second later.
process.on('exit', () => living.forEach((child) => child.kill('SIGKILL')));

/** Source and build output differ in the extension only. */
function childScript(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./guest-child.${extension}`, import.meta.url));
}

/** Starts a process, which waits for its `load` message. */
export function startGuestProcess(options: GuestProcessOptions): GuestProcess {
  const { memoryBytes } = options;
  const child = fork(childScript(), [String(memoryBytes)], {
    execArgv: [
      `--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`,
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    ],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    serialization: 'advanced',
    env: { ...options.environment },
  });
  if (!options.isAwaited && child.pid !== undefined) {
    // At once, so that its threads begin with it, and the start of the process costs others nothing.
    lowerPriority(child.pid);
  }
  living.add(child);
  for (const stream of child.stdio) {
    (stream as { unref?: () => void } | null)?.unref?.();
  }
  let lastWords = '';
  let isOutOfMemory = false;
  child.on('message', (message) => options.onMessage(message as FromGuest));
  child.stdio[WATCH_FD]?.on('data', () => (isOutOfMemory = true));
  readConsole(child.stdout as Readable, (line) => options.onLine(line, 'stdout'));
  readConsole(child.stderr as Readable, (line) => {
    lastWords = `${lastWords}${line}\n`.slice(-2_000);
    options.onLine(line, 'stderr');
  });
  return {
    pid: child.pid ?? 0,
    exited: waitForEnd(child).then(({ code, signal }) => {
      living.delete(child);
      const isHeapFull = /heap out of memory/iu.test(lastWords);
      return { code, signal, isOutOfMemory: isOutOfMemory || (isHeapFull && code !== 0), lastWords };
    }),
    send(message) {
      if (child.connected) {
        // A process that ends at this moment is reported by its exit.
        child.send(message, () => undefined);
      }
    },
    kill() {
      // Whoever kills it may wait for its end.
      setAwaited(child, true);
      child.kill('SIGKILL');
    },
    setAwaited: (isAwaited) => setAwaited(child, isAwaited),
  };
}

/** A process that has ended already has no priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, GUEST_NICE);
  } catch {
    // Its end is reported by its exit.
  }
}

function setAwaited(child: ChildProcess, isAwaited: boolean): void {
  const change = isAwaited ? 'ref' : 'unref';
  child[change]();
  child.channel?.[change]();
}

/** Settles once the process has ended and all that it sent has been read. */
async function waitForEnd(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const disconnected = new Promise((resolve) => child.once('disconnect', resolve));
  const end = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, LAST_MESSAGES_MS);
  await Promise.race([Promise.all([closed, disconnected]), late.promise]);
  clearTimeout(timer);
  return end;
}
