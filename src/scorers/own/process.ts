import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MESSAGE_FD, readFrames, WATCH_FD, WORKER_NICE, writeFrame, type ToWorker } from './messages.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { SECOND_MS } from '../../domain/durations.ts';

/** Longest logged line; the rest of a longer line is left out. */
const MAX_LINE_CHARS = 2_000;

/** Most logged lines a second; further lines are only counted. */
const MAX_LINES = 20;

/** Most bytes read a second; a process that prints more waits until the next second. */
const MAX_BYTES = 1024 * 1024;

/** End of a process. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when the process exceeded its memory limit. */
  readonly isOutOfMemory: boolean;
  /** End of its output on standard error. */
  readonly lastWords: string;
}

/** A process of an own scorer. */
export interface WorkerProcess {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
  send(message: ToWorker): void;
  /** Ends the process, and those that it has started, at once. */
  kill(): void;
  /** True: the worker process keeps this process alive. False: it does not. */
  setAwaited(isAwaited: boolean): void;
}

interface ProcessOptions {
  /** The whole environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryBytes: number;
  /** True when the start of the program waits for the process: its priority is then lowered only after its module is loaded. */
  readonly isAwaited: boolean;
  /** Called with each message; its code may send anything. */
  readonly onMessage: (message: unknown) => void;
  /** Called when the process sends bytes that are no message, or a message above the limit; nothing more is read then. */
  readonly onGarbage: () => void;
  /** Called with each line that the process prints. */
  readonly onLine: (line: string, stream: 'stdout' | 'stderr') => void;
}

/** Largest message of a process, bytes: a question with a long conversation is below it. */
const MAX_MESSAGE_BYTES = 32 * MIB;

/** Time to read the last messages of a dead process, milliseconds: a child process of its own may keep its pipes open. */
const LAST_MESSAGES_MS = 500;

const living = new Set<ChildProcess>();
// Without this, the watching threads would notice the end of their host only a second later.
process.on('exit', () => living.forEach(killGroup));

/** Returns the path of the child's script: source and build output differ in the extension only. */
function childScript(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./worker-main.${extension}`, import.meta.url));
}

/** Starts a process; it waits for its `load` message. */
export function startWorkerProcess(options: ProcessOptions): WorkerProcess {
  const { memoryBytes } = options;
  const flags = [
    `--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`,
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
  ];
  const child = spawn(process.execPath, [...flags, childScript(), String(memoryBytes)], {
    // No channel of Node's own: bytes on it that are no message would end this process.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    // The leader of a process group, so that the processes that the scorer starts end with it.
    detached: true,
    env: { ...options.environment },
  });
  if (!options.isAwaited && child.pid !== undefined) {
    // Done at once, so that all its threads start with this priority and its start takes no time from other processes.
    lowerPriority(child.pid);
  }
  living.add(child);
  for (const stream of child.stdio) {
    (stream as { unref?: () => void } | null)?.unref?.();
  }
  let lastWords = '';
  let isOutOfMemory = false;
  const { onMessage, onGarbage } = options;
  const channel = child.stdio[MESSAGE_FD] as Socket;
  // The end of the process is reported instead.
  channel.on('error', () => undefined);
  readFrames(channel, { maxBytes: MAX_MESSAGE_BYTES, onMessage, onGarbage });
  child.once('exit', () => killGroup(child));
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
      if (channel.writable) {
        writeFrame(channel, message);
      }
    },
    kill() {
      // The caller may wait for the end of the process.
      setAwaited(child, true);
      killGroup(child);
    },
    setAwaited: (isAwaited) => setAwaited(child, isAwaited),
  };
}

/** Ends a process and those that it has started, also after its own end. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid ?? Number.NaN), 'SIGKILL');
  } catch {
    // The whole group has ended, or the system has no groups.
    child.kill('SIGKILL');
  }
}

/** Lowers the priority of a process; ignores a process that has already ended. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, WORKER_NICE);
  } catch {
    // The process has ended; its exit is reported.
  }
}

function setAwaited(child: ChildProcess, isAwaited: boolean): void {
  const change = isAwaited ? 'ref' : 'unref';
  child[change]();
  (child.stdio[MESSAGE_FD] as Socket)[change]();
}

/** Resolves when the process has ended and all its messages have been read. */
async function waitForEnd(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const end = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, LAST_MESSAGES_MS);
  await Promise.race([closed, late.promise]);
  clearTimeout(timer);
  return end;
}

/** Reads the output of a process line by line, at a rate that costs the reader little. */
function readConsole(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  let bytes = 0;
  let lines = 0;
  let dropped = 0;
  let second: NodeJS.Timeout | undefined;

  function tell(line: string): void {
    lines += 1;
    if (lines > MAX_LINES) {
      dropped += 1;
    } else if (line.trim() !== '') {
      onLine(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line);
    }
  }

  function startSecond(): void {
    second ??= setTimeout(() => {
      if (dropped > 0) {
        onLine(`(${dropped} more lines)`);
      }
      second = undefined;
      bytes = lines = dropped = 0;
      stream.resume();
    }, SECOND_MS).unref();
  }

  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    startSecond();
    bytes += text.length;
    const pieces = (rest + text).split('\n');
    rest = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARS + 1);
    pieces.forEach(tell);
    if (bytes > MAX_BYTES) {
      stream.pause();
    }
  });
  stream.on('end', () => {
    if (rest !== '') {
      tell(rest);
    }
  });
}
