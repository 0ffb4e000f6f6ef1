const MIN_ROUNDS = 3;
const MAX_ROUNDS = 50;
/** A run that takes longer is measured once. */
const LONG_RUN_MS = 2000;
/** Processor time is told in steps of some milliseconds: short runs are measured by the batch. */
const BATCH_MS = 50;
/** Runs in one batch at most. */
const MAX_BATCH = 20_000;
/** Pauses are looked for in this many runs, in fewer when one is long. */
const PAUSE_RUNS = 5;

type Run = () => Promise<unknown>;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/**
 * Median time of each run in milliseconds of this thread's processor: what else the machine does adds nothing. The runs take
 * turns; the first batch of each, which loads and compiles what is needed, does not count.
 */
export async function timesPerRun(runs: readonly Run[], budgetMs: number): Promise<number[]> {
  const firstMs = await inTurns(runs, (run) => timeBatch(run, 1));
  if (firstMs.some((ms) => ms > LONG_RUN_MS)) {
    return firstMs;
  }
  const batches = await inTurns(runs, computeBatchSize);
  const rounds: number[][] = [];
  let spentMs = 0;
  while (rounds.length < MAX_ROUNDS && (rounds.length < MIN_ROUNDS || spentMs < budgetMs)) {
    const round = await inTurns(runs, (run, index) => timeBatch(run, batches[index] ?? 1));
    rounds.push(round);
    spentMs += round.reduce((sum, ms, index) => sum + ms * (batches[index] ?? 1), 0);
  }
  return runs.map((_, index) => median(rounds.map((round) => round[index] ?? Number.NaN)));
}

async function inTurns(
  runs: readonly Run[],
  measure: (run: Run, index: number) => Promise<number>,
): Promise<number[]> {
  const measured: number[] = [];
  for (const [index, run] of runs.entries()) {
    measured.push(await measure(run, index));
  }
  return measured;
}

/** Number of runs in a batch. */
async function computeBatchSize(run: Run): Promise<number> {
  const started = threadMs();
  let size = 0;
  while (size < MAX_BATCH && threadMs() - started < 2 * BATCH_MS) {
    await run();
    size += 1;
  }
  return Math.ceil(size / 2);
}

async function timeBatch(run: Run, size: number): Promise<number> {
  const started = threadMs();
  for (let done = 0; done < size; done += 1) {
    await run();
  }
  return (threadMs() - started) / size;
}

/** The longest turn of the event loop during one run, in milliseconds of the processor: the median over some runs. */
export async function longestPause(run: Run): Promise<number> {
  const pauses: number[] = [];
  const started = threadMs();
  while (pauses.length < PAUSE_RUNS && (pauses.length === 0 || threadMs() - started < LONG_RUN_MS)) {
    pauses.push(await pauseOfOneRun(run));
  }
  return median(pauses);
}

async function pauseOfOneRun(run: Run): Promise<number> {
  let longest = 0;
  let isOver = false;
  let turnBegan = threadMs();
  const watch = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - turnBegan);
    turnBegan = now;
    if (!isOver) {
      setImmediate(watch);
    }
  };
  setImmediate(watch);
  await run();
  isOver = true;
  watch();
  return longest;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
