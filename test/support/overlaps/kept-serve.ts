import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../durability/fleet.ts';
import { startUntilUp } from '../durability/kills.ts';
import type { ServeFolder } from '../processes/serve-process.ts';
import type { Disturbance } from './fleet-record.ts';

/** Ways to end a process. `SIGKILL group` ends the processes that it started, too. */
export type Ending = 'SIGTERM' | 'SIGKILL' | 'SIGKILL group';

/** Lines of a process that a busy machine did not let end its work in time: it was cut off, as by a kill. */
const CUT_OFF = /a part did not stop cleanly|scores were being sent when their exporter stopped/u;

/** A `serve` that is restarted by a keeper, as a supervisor of processes does. Two restarts at once run one after the other. */
export class KeptServe {
  readonly name: string;
  readonly folder: ServeFolder;
  /** Pid of each start. Each is the leader of a process group. */
  readonly pids: number[] = [];
  /** Descriptions of ends that nobody asked for. */
  readonly endedAlone: string[] = [];
  readonly #disturbances: Disturbance[];
  readonly #disturbs: string;
  #turn: Promise<unknown> = Promise.resolve();

  /** `disturbs` names the processes whose work stops with this one: its own name, or `all`. */
  constructor(
    name: string,
    folder: ServeFolder,
    { disturbances, disturbs = name }: { disturbances: Disturbance[]; disturbs?: string },
  ) {
    this.name = name;
    this.folder = folder;
    this.#disturbances = disturbances;
    this.#disturbs = disturbs;
  }

  start(): Promise<void> {
    return this.#inTurn(() => this.#startUntilUp());
  }

  /** Ends the process and starts it again, with this configuration if there is one. */
  restart(ending: Ending, config?: Record<string, unknown>): Promise<void> {
    return this.#inTurn(async () => {
      this.#noteEnd();
      const fromMs = Date.now();
      let isClean = false;
      if (ending === 'SIGTERM') {
        const { output: told } = this.folder;
        await this.folder.stop();
        isClean = !CUT_OFF.test(this.folder.output.slice(told.length));
      } else if (this.folder.pid !== undefined) {
        await (ending === 'SIGKILL' ? this.folder.killAlone() : this.folder.killGroup());
      }
      if (config !== undefined) {
        this.folder.configure(config);
      }
      await this.#startUntilUp();
      // The end of the process that owns the store interrupts the work of all others.
      if (!isClean || this.#disturbs !== this.name) {
        this.disturb(fromMs);
      }
    });
  }

  /** Sends SIGSTOP, and SIGCONT after this time. */
  async stall(ms: number): Promise<void> {
    const { pid } = this.folder;
    const fromMs = Date.now();
    sendSignal(pid, 'SIGSTOP');
    await sleep(ms);
    sendSignal(pid, 'SIGCONT');
    this.disturb(fromMs);
  }

  /** Records a disturbance from this time until now. */
  disturb(fromMs: number): void {
    this.#disturbances.push({ process: this.#disturbs, fromMs, untilMs: Date.now() });
  }

  /** Starts the process when it has ended by itself. */
  heal(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#noteEnd()) {
        await this.#startUntilUp();
      }
    });
  }

  /** Sends SIGTERM. Returns the exit code. */
  stop(): Promise<number | null> {
    return this.#inTurn(() => this.folder.stop());
  }

  async #startUntilUp(): Promise<void> {
    await startUntilUp(this.folder);
    this.pids.push(this.folder.pid ?? 0);
  }

  /** Records an end that nobody asked for. Returns true when the process does not run. */
  #noteEnd(): boolean {
    const hasEnded = this.folder.pid === undefined;
    if (hasEnded) {
      this.endedAlone.push(`${this.name}: ${this.folder.output.slice(-600)}`);
    }
    return hasEnded;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
