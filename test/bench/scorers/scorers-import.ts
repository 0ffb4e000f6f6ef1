import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { atMost, head, row, share, verdictOn } from '../bench-table.ts';
import { median } from '../measured-time.ts';
import { PEER_ENTRIES, peerFile } from '../peer-packages.ts';

const ROUNDS = 7;
const MAX_SHARE = 33;

/** Time to import the entries of both sides, each time in a new process, in turns. */
export async function benchImports(): Promise<void> {
  head(
    'Time to import, milliseconds (medians of new processes, in turns)',
    'entry',
    'spanscore',
    'published',
    'share',
    'goals',
  );
  const dist = buildDist();
  for (const [name, own, other] of [
    ['spanscore/evals, @mastra/core/evals', `${dist}/src/scorers/evals/index.js`, PEER_ENTRIES.evals],
    [
      'spanscore/scorers, @mastra/evals/scorers/prebuilt',
      `${dist}/src/scorers/index.js`,
      PEER_ENTRIES.prebuilt,
    ],
  ] as const) {
    const rounds = Array.from({ length: ROUNDS }, () => [importMs(own), importMs(peerFile(other))] as const);
    const ownMs = median(rounds.map(([ms]) => ms));
    const otherMs = median(rounds.map(([, ms]) => ms));
    const verdict = verdictOn(name, [atMost((100 * ownMs) / otherMs, MAX_SHARE, '%')]);
    row(name, ownMs, otherMs, share(ownMs, otherMs), verdict);
  }
}

/** Compiled files, as users load them. */
function buildDist(): string {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const outDir = `${root}node_modules/.cache/spanscore-bench`;
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  execFileSync(process.execPath, [tsc, '-p', `${root}tsconfig.build.json`, '--outDir', outDir, '--noCheck'], {
    stdio: 'inherit',
  });
  return outDir;
}

function importMs(file: string): number {
  const script = `const from = performance.now(); await import(${JSON.stringify(file)}); console.log(performance.now() - from); process.exit(0)`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }));
}
