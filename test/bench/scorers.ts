/**
 * Every scorer beside its counterpart of the published packages, in one process and on the same material, each figure held
 * against its goal. `node test/bench/scorers.ts [code] [judged] [import] [ms=1500]`: all parts without a name; `ms` is the time for
 * one figure.
 */
import { loadavg } from 'node:os';
import { sumUp } from './bench-table.ts';
import { loadPeer } from './peer-packages.ts';
import type { ScorerLibrary } from './peer-packages.ts';
import { benchCode } from './scorers/scorers-code.ts';
import { benchImports } from './scorers/scorers-import.ts';
import { benchJudged } from './scorers/scorers-judged.ts';

const DEFAULT_BUDGET_MS = 1500;

const ours = {
  evals: await import('../../src/scorers/evals/index.ts'),
  prebuilt: await import('../../src/scorers/prebuilt/index.ts'),
} as unknown as ScorerLibrary;
const sides = { ours, peer: await loadPeer() };

const given = process.argv.slice(2);
const budgetMs = Number(given.find((arg) => arg.startsWith('ms='))?.slice(3) ?? DEFAULT_BUDGET_MS);
const names = given.filter((arg) => !arg.startsWith('ms='));
const load = () =>
  loadavg()
    .map((minutes) => minutes.toFixed(1))
    .join(', ');

console.log(`Node ${process.version}; load of the machine over 1, 5 and 15 minutes: ${load()}`);
const parts = { code: benchCode, judged: benchJudged, import: benchImports };
for (const [name, bench] of Object.entries(parts)) {
  if (names.length === 0 || names.includes(name)) {
    await bench(sides, budgetMs);
  }
}
sumUp();
console.log(`Load at the end: ${load()}`);
process.exit(0);
