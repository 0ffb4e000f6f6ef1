/**
 * Every scorer beside its counterpart of the published packages, in one process and on the same material: time per run,
 * longest pause of the event loop, questions to the judge and their size, time to import.
 * `node test/bench/scorers.ts [milliseconds per figure]`
 */
import { execFileSync } from 'node:child_process';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createCountingJudge } from './counting-judge.ts';
import { loadPeer, PEER_ENTRIES, peerFile } from './peer-packages.ts';
import type { AnyScorer, ScorerLibrary } from './peer-packages.ts';
import { CODE_CASES, createJudged, JUDGED_CASES, runOf } from './scorer-cases.ts';

const [budgetMs = 1500] = process.argv.slice(2).map(Number);
const MAX_RUNS = 200;
const SIZES_KB = [2, 16, 64];
/** Larger pairs take the reference gigabytes. */
const PAIRS_KB = [2, 8];
const IMPORT_ROUNDS = 5;

const ours = {
  evals: await import('../../src/evals/index.ts'),
  prebuilt: await import('../../src/scorers/prebuilt/index.ts'),
} as unknown as ScorerLibrary;
const peer = await loadPeer();

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Median over as many runs as the budget allows, at least one after a first that loads what is needed. */
async function timePerRun(run: () => Promise<unknown>): Promise<number> {
  const tookMs: number[] = [];
  await run();
  const started = performance.now();
  while (tookMs.length < MAX_RUNS && (tookMs.length === 0 || performance.now() - started < budgetMs)) {
    const from = performance.now();
    await run();
    tookMs.push(performance.now() - from);
  }
  return median(tookMs);
}

/** The longest that nothing else could run during one run, in milliseconds. */
async function longestPause(run: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  await run();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.disable();
  return delay.max / 1e6;
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3);
}

function row(...cells: (string | number)[]): void {
  console.log(`| ${cells.map((cell) => (typeof cell === 'number' ? shown(cell) : cell)).join(' | ')} |`);
}

function head(title: string, ...columns: string[]): void {
  console.log(`\n## ${title}\n`);
  row(...columns);
  row(...columns.map(() => '---'));
}

async function compare(
  name: string,
  create: (library: ScorerLibrary) => AnyScorer,
  run: object,
): Promise<void> {
  const [own, other] = [create(ours), create(peer)];
  const ownMs = await timePerRun(() => own.run(run));
  const otherMs = await timePerRun(() => other.run(run));
  row(
    name,
    ownMs,
    otherMs,
    `${((100 * ownMs) / otherMs).toFixed(1)} %`,
    await longestPause(() => own.run(run)),
  );
}

head(
  'Code scorers, milliseconds a run (median)',
  'scorer',
  'spanscore',
  'published',
  'share',
  'longest pause',
);
await compare(
  'framework: generateScore only',
  ({ evals }) =>
    (evals['createScorer'] as (config: object) => AnyScorer)({ id: 'one' }).generateScore(() => 1),
  { output: 'x' },
);
for (const { name, create, run } of CODE_CASES) {
  if (run !== undefined) {
    await compare(name, create, run());
    continue;
  }
  for (const kb of SIZES_KB) {
    await compare(`${name}, ${kb} KB`, create, runOf(kb * 1024));
  }
}
for (const kb of PAIRS_KB) {
  const create = ({ prebuilt }: ScorerLibrary) =>
    (prebuilt['createTextualDifferenceScorer'] as () => AnyScorer)();
  await compare(`textual-difference, ${kb} KB × ${kb} KB`, create, runOf(kb * 1024, kb * 1024));
}

head(
  'Judged scorers, 2 KB answer, 4 KB context: questions / input tokens / milliseconds with an instant judge',
  'scorer',
  'spanscore',
  'without reason',
  'published',
  'tokens',
  'tokens without reason',
);
for (const judged of JUDGED_CASES) {
  const run = { ...runOf(2048), ...judged.run };
  const measured = async (library: ScorerLibrary, more: object = {}) => {
    const withoutReason = 'reason' in more;
    const replies = judged.replies.filter((reply) => !withoutReason || typeof reply !== 'string');
    const once = createCountingJudge(replies);
    await createJudged(library, judged, once, more).run(run);
    const scorer = createJudged(library, judged, createCountingJudge(replies), more);
    return {
      calls: once.calls,
      tokens: once.inputTokens,
      ms: await timePerRun(() => scorer.run(run)),
    };
  };
  const [own, other] = [await measured(ours), await measured(peer)];
  const hasReason = judged.replies.some((reply) => typeof reply === 'string');
  const bare = hasReason ? await measured(ours, { reason: false }) : own;
  const cell = ({ calls, tokens, ms }: typeof own) => `${calls} / ${tokens} / ${shown(ms)}`;
  const share = ({ tokens }: typeof own) => `${((100 * tokens) / other.tokens).toFixed(0)} %`;
  row(judged.name, cell(own), cell(bare), cell(other), share(own), share(bare));
}

/** Compiled files, as users load them. */
function buildDist(): string {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const outDir = `${root}node_modules/.cache/spanscore-bench`;
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  execFileSync(process.execPath, [tsc, '-p', `${root}tsconfig.build.json`, '--outDir', outDir, '--noCheck'], {
    stdio: 'inherit',
  });
  return outDir;
}

function importMs(file: string): number {
  const script = `const from = performance.now(); await import(${JSON.stringify(file)}); console.log(performance.now() - from); process.exit(0)`;
  const rounds = Array.from({ length: IMPORT_ROUNDS }, () =>
    Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })),
  );
  return median(rounds);
}

head('Time to import, milliseconds (median of new processes)', 'entry', 'spanscore', 'published', 'share');
const dist = buildDist();
for (const [entry, own, other] of [
  ['evals', `${dist}/src/evals/index.js`, PEER_ENTRIES.evals],
  ['scorers/prebuilt', `${dist}/src/scorers/prebuilt/index.js`, PEER_ENTRIES.prebuilt],
] as const) {
  const [ownMs, otherMs] = [importMs(own), importMs(peerFile(other))];
  row(entry, ownMs, otherMs, `${((100 * ownMs) / otherMs).toFixed(0)} %`);
}
process.exit(0);
