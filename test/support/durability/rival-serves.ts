import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

/** Output of `serve --json` when it is ready. */
interface ReadyLine {
  readonly pid: number;
  readonly otlpHttp: string;
  readonly api: string;
}

/** One run of `serve` in a folder that another run may use at the same time. */
export class RivalServe {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  readonly startedAtMs = performance.now();
  /** Signal that was sent to end it; undefined before. */
  endedBy: 'SIGTERM' | 'SIGKILL' | undefined;
  /** Time of the first SIGTERM. */
  terminatedAtMs = Infinity;
  hasHung = false;
  #stdout = '';
  #stderr = '';

  constructor(folder: string) {
    this.child = spawn(process.execPath, [CLI, 'serve', '--json'], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Environment variables of the test run must not configure it.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SPANSCORE_'))),
    });
    this.ended = once(this.child, 'close');
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // Ends the process when the test run is aborted.
    const killChild = () => this.killGroup();
    process.once('exit', killChild);
    this.child.once('exit', () => process.off('exit', killChild));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Addresses; undefined until it is ready. */
  get ready(): ReadyLine | undefined {
    const [line] = this.#stdout.split('\n', 1);
    return this.#stdout.includes('\n') && line !== undefined ? (JSON.parse(line) as ReadyLine) : undefined;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Sends SIGTERM. The process drains first. */
  terminate(): void {
    this.endedBy ??= 'SIGTERM';
    this.terminatedAtMs = Math.min(this.terminatedAtMs, performance.now());
    this.child.kill('SIGTERM');
  }

  /** kill -9 of the process alone. Its engine keeps running. */
  killAlone(): void {
    this.endedBy = 'SIGKILL';
    this.child.kill('SIGKILL');
  }

  /** kill -9 of the process and its engine. */
  killGroup(): void {
    this.endedBy = 'SIGKILL';
    if (this.isRunning) {
      process.kill(-this.pid, 'SIGKILL');
    }
  }

  /** Sends SIGSTOP, and SIGCONT after this time. */
  hang(ms: number): void {
    this.hasHung = true;
    this.child.kill('SIGSTOP');
    setTimeout(() => this.child.kill('SIGCONT'), ms);
  }

  /** Describes the process for an error message: pid, state, signal and the end of its log. */
  describe(): string {
    const { exitCode, signalCode } = this.child;
    const state = this.isRunning
      ? this.ready === undefined
        ? 'not ready'
        : 'ready'
      : `ended ${exitCode ?? signalCode}`;
    return `${this.pid} ${state}${this.endedBy === undefined ? '' : ` after ${this.endedBy}`}: ${this.#stderr.slice(-600)}`;
  }
}
