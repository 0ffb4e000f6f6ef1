import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MIB } from '../../domain/byte-sizes.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { MESSAGE_FD, readFrames, WATCH_FD, WORKER_NICE, writeFrame, type ToWorker } from './messages.ts';

/** Longest logged line; the rest of a longer line is left out. */
const MAX_LINE_CHARS = 2_000;

/** Most logged lines a second; further lines are only counted. */
const MAX_LINES = 20;

/** Most bytes read a second; a process that prints more waits until the next second. */
const MAX_BYTES = MIB;

/** Largest message of a process, bytes: a question with a long conversation is below it. */
const MAX_MESSAGE_BYTES = 32 * MIB;

/** Time to read the last messages of a dead process, milliseconds: a child process of its own may keep its pipes open. */
const LAST_MESSAGES_MS = 500;

/** End of a process. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when the process exceeded its memory limit. */
  readonly isOutOfMemory: boolean;
  /** End of its output on standard error. */
  readonly lastWords: string;
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

const living = new Set<ChildProcess>();
// Without this, the watching threads would notice the end of their host only a second later.
process.on('exit', () => living.forEach(killGroup));

/** A process of an own scorer; it waits for its `load` message. */
export class WorkerProcess {
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #channel: Socket;

  constructor({ memoryBytes, environment, isAwaited, ...options }: ProcessOptions) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const script = fileURLToPath(new URL(`./worker-main.${extension}`, import.meta.url));
    const flags = [
      `--max-old-space-size=${Math.ceil(memoryBytes / MIB)}`,
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    ];
    const child = spawn(process.execPath, [...flags, script, String(memoryBytes)], {
      // No channel of Node's own: bytes on it that are no message would end this process.
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      // The leader of a process group, so that the processes that the scorer starts end with it.
      detached: true,
      env: { ...environment },
    });
    if (!isAwaited && child.pid !== undefined) {
      lowerPriority(child.pid);
    }
    living.add(child);
    this.#child = child;
    this.#channel = child.stdio[MESSAGE_FD] as Socket;
    for (const stream of child.stdio) {
      (stream as { unref?: () => void } | null)?.unref?.();
    }
    // The end of the process is reported instead.
    this.#channel.on('error', () => undefined);
    readFrames(this.#channel, MAX_MESSAGE_BYTES, options.onMessage, options.onGarbage);
    child.once('exit', () => killGroup(child));
    this.exited = this.#watchEnd(options.onLine);
  }

  send(message: ToWorker): void {
    if (this.#channel.writable) {
      writeFrame(this.#channel, message);
    }
  }

  /** Ends the process, and those that it has started, at once. */
  kill(): void {
    // The caller may wait for the end of the process.
    this.setAwaited(true);
    killGroup(this.#child);
  }

  /** True: the worker process keeps this process alive. False: it does not. */
  setAwaited(isAwaited: boolean): void {
    const change = isAwaited ? 'ref' : 'unref';
    this.#child[change]();
    this.#channel[change]();
  }

  /** Reads what the process prints. Resolves when the process has ended and all its messages have been read. */
  async #watchEnd(onLine: ProcessOptions['onLine']): Promise<ProcessExit> {
    const child = this.#child;
    let lastWords = '';
    let isTooLarge = false;
    child.stdio[WATCH_FD]?.on('data', () => (isTooLarge = true));
    readConsole(child.stdout as Readable, (line) => onLine(line, 'stdout'));
    readConsole(child.stderr as Readable, (line) => {
      lastWords = `${lastWords}${line}\n`.slice(-2_000);
      onLine(line, 'stderr');
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    const end = await new Promise<Pick<ProcessExit, 'code' | 'signal'>>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, LAST_MESSAGES_MS);
    await Promise.race([closed, late.promise]);
    clearTimeout(timer);
    living.delete(child);
    const isHeapFull = /heap out of memory/iu.test(lastWords) && end.code !== 0;
    return { ...end, isOutOfMemory: isTooLarge || isHeapFull, lastWords };
  }
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

/** Lowers the priority of a process at once, so that all its threads start with it and its start takes no time from others. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, WORKER_NICE);
  } catch {
    // The process has ended; its exit is reported.
  }
}

/** Reads the output of a process line by line, at a rate that costs the reader little. */
function readConsole(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  let bytes = 0;
  let lines = 0;
  let second: NodeJS.Timeout | undefined;

  function tell(line: string): void {
    lines += 1;
    if (lines <= MAX_LINES && line.trim() !== '') {
      onLine(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line);
    }
  }

  function startSecond(): void {
    second ??= setTimeout(() => {
      if (lines > MAX_LINES) {
        onLine(`(${lines - MAX_LINES} more lines)`);
      }
      second = undefined;
      bytes = lines = 0;
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
