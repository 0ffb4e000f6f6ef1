import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PEER = new URL('./peer/', import.meta.url);

/** Interface of either side that the bench uses; both have the same names. */
export interface ScorerLibrary {
  readonly evals: Readonly<Record<string, (...args: unknown[]) => AnyScorer>>;
  readonly prebuilt: Readonly<Record<string, (...args: unknown[]) => AnyScorer>>;
}
export interface AnyScorer {
  run(input: unknown): Promise<{ score?: number; scores?: readonly unknown[] }>;
  generateScore(step: (context: never) => number): AnyScorer;
  preprocess(step: (context: never) => unknown): AnyScorer;
}

/** The file that an import of a published package loads. */
export function peerFile(name: string): string {
  return fileURLToPath(new URL(`node_modules/${name}`, PEER));
}

export const PEER_ENTRIES = {
  evals: '@mastra/core/dist/evals/index.js',
  prebuilt: '@mastra/evals/dist/scorers/prebuilt/index.js',
} as const;

/** What is missing while they are not there. */
export const MISSING_PEER =
  'the published scorers are not installed; npm ci --prefix test/bench/peer --ignore-scripts';

/** True once the published scorers are there. */
export function isPeerInstalled(): boolean {
  return existsSync(peerFile(PEER_ENTRIES.prebuilt));
}

/** The published scorers, installed where they are missing. */
export async function loadPeer(): Promise<ScorerLibrary> {
  installPeer(PEER_ENTRIES.prebuilt);
  const [evals, prebuilt] = await Promise.all([
    import(peerFile(PEER_ENTRIES.evals)) as Promise<ScorerLibrary['evals']>,
    import(peerFile(PEER_ENTRIES.prebuilt)) as Promise<ScorerLibrary['prebuilt']>,
  ]);
  return { evals, prebuilt };
}

/** Installs the published packages into their own folder, by their own lock file, unless this file of theirs is there. */
export function installPeer(file: string): void {
  if (!existsSync(peerFile(file))) {
    console.log('installing the published packages into test/bench/peer …');
    const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', options, { cwd: fileURLToPath(PEER), stdio: 'inherit' });
  }
}
