import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownScorer } from '../../../src/config/default-rule.ts';

/** Scorers as a registry would list them: two of code, two with a judge. */
export const KNOWN_SCORERS: readonly KnownScorer[] = [
  { name: 'keyword-coverage', needsJudge: false },
  { name: 'content-similarity', needsJudge: false },
  { name: 'hallucination', needsJudge: true },
  { name: 'faithfulness', needsJudge: true },
  { name: 'grounding', needsJudge: true },
];

/** A new folder with these files; its path. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-config-'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
