import { atMost, head, row, share, verdictOn } from '../bench-table.ts';
import type { Goal } from '../bench-table.ts';
import { longestPause, timesPerRun } from '../measured-time.ts';
import type { AnyScorer, ScorerLibrary } from '../peer-packages.ts';
import { CODE_CASES, prebuilt, buildRun } from './scorer-cases.ts';

/** Both libraries. */
export interface Sides {
  readonly ours: ScorerLibrary;
  readonly peer: ScorerLibrary;
}

interface Line {
  readonly name: string;
  readonly create: (library: ScorerLibrary) => AnyScorer;
  readonly run: object;
  readonly goals: (ownMs: number, otherMs: number) => readonly Goal[];
}

const SIZES_KB = [2, 16, 64];
const MAX_PAUSE_MS = 50;
const MAX_FRAMEWORK_MS = 0.05;
/** Pairs of texts, with what the comparison may take. Larger ones take the published scorer gigabytes. */
const PAIRS = [
  { kb: 2, maxMs: 10 },
  { kb: 8, maxMs: 100 },
];
const MAX_EXTRA_MB = 10;
const MEMORY_KB = 8;

/** Time of a run and the longest turn of the event loop of all code scorers. */
export async function benchCode(sides: Sides, budgetMs: number): Promise<void> {
  head(
    'Code scorers, ms of processor time a run (medians, runs of both sides in turns)',
    'scorer',
    'spanscore',
    'published',
    'share',
    'longest turn',
    'goals',
  );
  for (const line of lines()) {
    await benchLine(line, sides, budgetMs);
  }
  await benchMemory(sides);
}

function lines(): Line[] {
  const framework: Line = {
    name: 'framework: generateScore only',
    create: ({ evals }) =>
      (evals['createScorer'] as (config: object) => AnyScorer)({ id: 'one' }).generateScore(() => 1),
    run: { output: 'x' },
    goals: (ownMs) => [atMost(ownMs, MAX_FRAMEWORK_MS, 'ms')],
  };
  const cases = CODE_CASES.flatMap(({ name, create, run }) =>
    run === undefined
      ? SIZES_KB.map((kb) => ({
          name: `${name}, ${kb} KB`,
          create,
          run: buildRun(kb * 1024),
          goals: name === 'completeness' ? asFastAsPublished : fasterThanPublished,
        }))
      : [{ name, create, run: run(), goals: fasterThanPublished }],
  );
  const pairs = PAIRS.map(({ kb, maxMs }) => ({
    name: `textual-difference, ${kb} KB × ${kb} KB`,
    create: prebuilt('createTextualDifferenceScorer'),
    run: buildRun(kb * 1024, kb * 1024),
    goals: (ownMs: number) => [atMost(ownMs, maxMs, 'ms')],
  }));
  return [framework, ...cases, ...pairs];
}

function fasterThanPublished(ownMs: number, otherMs: number): Goal[] {
  return [atMost((100 * ownMs) / otherMs, 100, '%')];
}

/** Goals of a scorer whose time is that of a library which the published scorer uses, too. */
function asFastAsPublished(ownMs: number, otherMs: number): Goal[] {
  return [atMost((100 * ownMs) / otherMs, 120, '%')];
}

async function benchLine({ name, create, run, goals }: Line, sides: Sides, budgetMs: number): Promise<void> {
  const [own, other] = [create(sides.ours), create(sides.peer)];
  // First, and not in its first run: the published scorer leaves garbage, which would be cleared away in our turns.
  await own.run(run);
  const pauseMs = await longestPause(() => own.run(run));
  const [ownMs = 0, otherMs = 0] = await timesPerRun([() => own.run(run), () => other.run(run)], budgetMs);
  const verdict = verdictOn(name, [...goals(ownMs, otherMs), atMost(pauseMs, MAX_PAUSE_MS, 'ms turn')]);
  row(name, ownMs, otherMs, share(ownMs, otherMs), pauseMs, verdict);
}

/** Memory that one comparison adds, by the peak of the process: the published one is not run, it takes gigabytes. */
async function benchMemory({ ours }: Sides): Promise<void> {
  head('Memory that a comparison adds, MB', 'scorer', 'spanscore', 'goals');
  const scorer = prebuilt('createTextualDifferenceScorer')(ours);
  const run = buildRun(MEMORY_KB * 1024, MEMORY_KB * 1024);
  const before = process.memoryUsage();
  await scorer.run(run);
  const after = process.memoryUsage();
  const extraMb =
    Math.max(0, after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / 2 ** 20;
  const name = `textual-difference, ${MEMORY_KB} KB × ${MEMORY_KB} KB`;
  row(name, extraMb, verdictOn(name, [atMost(extraMb, MAX_EXTRA_MB, 'MB')]));
}
