import { existsSync, readFileSync } from 'node:fs';

const FIXTURES = new URL('../../fixtures/', import.meta.url);

/** Lists the expectations of a folder's recordings, by case. */
export function listExpectations<T>(
  folder: 'spans' | 'spans-multi' | 'spans-spec',
): [name: string, expected: T][] {
  return Object.entries(
    JSON.parse(readFileSync(new URL(`${folder}/expected.json`, FIXTURES), 'utf8')) as Record<string, T>,
  );
}

/** Reads a recording as NDJSON: the trace requests, then the log requests. */
export function recordedSpans(folder: 'spans' | 'spans-multi' | 'spans-spec', name: string): string {
  return ['traces', 'logs']
    .map((signal) => new URL(`${folder}/${name}.${signal}.jsonl`, FIXTURES))
    .filter((url) => existsSync(url))
    .map((url) => readFileSync(url, 'utf8').trim())
    .join('\n');
}
