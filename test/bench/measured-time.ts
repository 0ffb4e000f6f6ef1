const MAX_ROUNDS = 200;
const MIN_ROUNDS = 3;
/** Most rounds that do not count, as long as they fit into the time for the figure: the engine compiles what runs often. */
const WARM_ROUNDS = 50;
/** A run that takes longer is measured once. */
const LONG_RUN_MS = 2000;
/** Pauses are looked for in this many runs, in fewer when one is long. */
const PAUSE_RUNS = 5;

type Run = () => Promise<unknown>;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/**
 * Median time of each run in milliseconds of this thread's processor: what else the machine does adds nothing. The runs take
 * turns; rounds that load and compile what is needed do not count.
 */
export async function timesPerRun(runs: readonly Run[], budgetMs: number): Promise<number[]> {
  const tookMs: number[][] = runs.map(() => []);
  const first = await timeRound(runs, tookMs);
  if (first > LONG_RUN_MS) {
    return tookMs.map(median);
  }
  let warmingMs = first;
  for (let round = 1; round < WARM_ROUNDS && warmingMs < budgetMs; round += 1) {
    warmingMs += await timeRound(runs, tookMs);
  }
  tookMs.forEach((times) => times.splice(0));
  let spentMs = 0;
  for (let round = 0; round < MAX_ROUNDS && (round < MIN_ROUNDS || spentMs < budgetMs); round += 1) {
    spentMs += await timeRound(runs, tookMs);
  }
  return tookMs.map(median);
}

async function timeRound(runs: readonly Run[], tookMs: readonly number[][]): Promise<number> {
  const started = threadMs();
  for (const [index, run] of runs.entries()) {
    const from = threadMs();
    await run();
    tookMs[index]?.push(threadMs() - from);
  }
  return threadMs() - started;
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
