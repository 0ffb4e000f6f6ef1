import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownScorer } from '../../../src/config/schema/rules.ts';

/** Scorers as a registry lists them: three in code, three with a judge. */
export const KNOWN_SCORERS: readonly KnownScorer[] = [
  { name: 'behaviour', needsJudge: false },
  { name: 'keyword-coverage', needsJudge: false },
  { name: 'content-similarity', needsJudge: false },
  { name: 'hallucination', needsJudge: true },
  { name: 'faithfulness', needsJudge: true },
  { name: 'grounding', needsJudge: true },
  { name: 'ask', needsJudge: true },
];

/** Creates a new folder with these files. Returns its path. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-config-'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
