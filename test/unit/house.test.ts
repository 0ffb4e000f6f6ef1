import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A file of this many lines or fewer with one importer is a wrapper. */
const WRAPPER_LINES = 30;

/** Lists of equal things; each thing of a list may have a short file. */
const LISTS = /\/(?:components|registry|commands|index)\.ts$/;

/** Wrappers without a reason that are left. Lower it with each one that goes; a new wrapper joins its importer. */
const MOST_WRAPPERS = 40;

/** Lists the wrapper files whose first line gives no reason (`// …`). */
function listWrappers(): string[] {
  const files = globSync(['src/**/*.{ts,tsx}', 'collector/**/*.ts'], { cwd: ROOT });
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    for (const [, path = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const imported = join(dirname(file), path);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  return [...texts].flatMap(([file, text]) => {
    const [importer, ...more] = importers.get(file) ?? [];
    const isWrapper =
      importer !== undefined &&
      more.length === 0 &&
      !LISTS.test(importer) &&
      text.split('\n').length - 1 <= WRAPPER_LINES &&
      !text.startsWith('// ');
    return isWrapper ? [`${file}, imported by ${importer}`] : [];
  });
}

it('a short file with one importer gives a reason in its first line, or joins its importer', () => {
  const wrappers = listWrappers();

  expect(wrappers.length > MOST_WRAPPERS ? wrappers : []).toEqual([]);
});
