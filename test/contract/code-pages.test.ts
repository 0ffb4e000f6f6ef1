import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const notes = globSync('docs/design/*.md', { cwd: root }).toSorted();
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

describe('the pages about the code', () => {
  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', ...notes])('%s names files that exist', (page) => {
    const paths = [...read(page).matchAll(/`((?:src|collector|test|tools|schemas|deploy)\/[\w./-]+)`/g)];

    expect(paths).not.toEqual([]);
    expect(paths.map(([, path = '']) => path).filter((path) => !existsSync(`${root}${path}`))).toEqual([]);
  });

  it.each([
    ['ARCHITECTURE.md', 2500],
    ...notes.map((page): [string, number] => [page, 900]),
    ...['try', 'trust', 'operate'].map((door): [string, number] => [`docs/${door}.md`, 700]),
  ])('%s has at most %i words', (page, limit) => {
    expect(read(page).split(/\s+/).length).toBeLessThanOrEqual(limit);
  });
});
