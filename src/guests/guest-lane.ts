/** Turns of the runs in one process: only the run that has the turn may execute code. */
export interface GuestLane {
  /** Resolves when the run has the turn. A run that returns from a judge call goes before runs that have not begun. */
  take(run: number, isResumed?: boolean): Promise<void>;
  /** True while the run has the turn. */
  holds(run: number): boolean;
  /** Releases the turn; does nothing for a run without the turn. */
  release(run: number): void;
}

/** Creates the turns of a process. `announce` is awaited before a run gets the turn. */
export function createLane(announce: (run: number) => Promise<void>): GuestLane {
  const waiting: { readonly run: number; readonly go: () => void }[] = [];
  let holder: number | null = null;

  async function next(): Promise<void> {
    const turn = holder === null ? waiting.shift() : undefined;
    if (turn !== undefined) {
      holder = turn.run;
      await announce(turn.run);
      turn.go();
    }
  }

  return {
    take(run, isResumed = false) {
      if (holder === run) {
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const turn = { run, go: resolve };
        if (isResumed) {
          waiting.unshift(turn);
        } else {
          waiting.push(turn);
        }
        void next();
      });
    },
    holds: (run) => holder === run,
    release(run) {
      if (holder === run) {
        holder = null;
        void next();
      }
    },
  };
}
