import { EngineError } from './engine-error.ts';
import type { EngineRequest } from './engine-request.ts';
import type { StatementReply, StatementRunner } from './statement-runner.ts';

/**
 * Writes that the engine accepts. `no-new-work` refuses new spans and the beats of processes: without beats they finish the work that
 * they have begun, and begin no other.
 */
export const WRITE_LEVELS = ['all', 'no-new-work', 'none'] as const;
export type WriteLevel = (typeof WRITE_LEVELS)[number];

const NEW_WORK: ReadonlySet<string> = new Set(['otel_traces', 'otel_logs', 'scorer_members', 'duty_members']);

const TARGET = /^\s*(?:\/\*.*?\*\/\s*)?INSERT\s+INTO\s+(?:TABLE\s+)?(?:`?\w+`?\.)?`?(\w+)/iu;

/** Gate before the statements of the owner. What it refuses fails like a store that is read-only for a moment: writers try again. */
export class WriteGate {
  readonly #running = new Set<{ readonly isNewWork: boolean; readonly ended: Promise<unknown> }>();
  readonly #findEnd: () => string | undefined;
  #level: WriteLevel = 'all';
  #untilMs = Number.POSITIVE_INFINITY;
  #reason = '';

  /** @param findEnd returns the reason why the store takes no writes any more; undefined while it does */
  constructor(findEnd: () => string | undefined = () => undefined) {
    this.#findEnd = findEnd;
    this.#set('all', '');
  }

  /**
   * Sets the level, and waits until the writes that it refuses have ended. Returns the level before.
   * @param forMs time after which all writes are accepted again: the program that set the level may have been killed
   */
  async hold(level: WriteLevel, reason: string, forMs: number): Promise<WriteLevel> {
    const before = this.#readLevel();
    this.#set(level, reason, forMs);
    const refused = [...this.#running].filter(({ isNewWork }) => this.#refuses(isNewWork));
    await Promise.all(refused.map(({ ended }) => ended));
    return before;
  }

  /** Wraps a runner. */
  guard(run: StatementRunner): StatementRunner {
    return async (request, signal) => {
      const { kind } = request.statement;
      return kind === 'read' || kind === 'session'
        ? run(request, signal)
        : this.#write(request, () => run(request, signal));
    };
  }

  async #write(request: EngineRequest, run: () => Promise<StatementReply>): Promise<StatementReply> {
    const { sql, insert } = request.statement;
    const table = TARGET.exec(insert?.head ?? sql)?.[1] ?? '';
    const isNewWork = NEW_WORK.has(table);
    if (this.#refuses(isNewWork)) {
      throw new EngineError('READONLY', this.#reason);
    }
    const running = run();
    const write = { isNewWork, ended: running.catch(() => undefined) };
    this.#running.add(write);
    try {
      return await running;
    } finally {
      this.#running.delete(write);
    }
  }

  /** A store that has ended accepts no writes, whatever the level. */
  #set(level: WriteLevel, reason: string, forMs = Number.POSITIVE_INFINITY): void {
    const end = this.#findEnd();
    this.#level = end === undefined ? level : 'none';
    this.#reason = end ?? reason;
    this.#untilMs = end === undefined ? performance.now() + forMs : Number.POSITIVE_INFINITY;
  }

  #readLevel(): WriteLevel {
    if (performance.now() >= this.#untilMs) {
      // The program that set the level was perhaps killed after it had ended the store.
      this.#set('all', '');
    }
    return this.#level;
  }

  #refuses(isNewWork: boolean): boolean {
    const level = this.#readLevel();
    return level === 'none' || (level === 'no-new-work' && isNewWork);
  }
}
