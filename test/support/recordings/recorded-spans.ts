import { existsSync, readFileSync } from 'node:fs';

/** Folder of recordings in `test/fixtures`. */
export type RecordingFolder = 'spans' | 'spans-multi' | 'spans-spec' | 'spans-thirdparty';

const FIXTURES = new URL('../../fixtures/', import.meta.url);

/** Lists the expectations of a folder's recordings, by case. */
export function listExpectations<T>(folder: RecordingFolder): [name: string, expected: T][] {
  return Object.entries(
    JSON.parse(readFileSync(new URL(`${folder}/expected.json`, FIXTURES), 'utf8')) as Record<string, T>,
  );
}

/** Reads a recording as NDJSON: the trace requests, then the log requests. */
export function recordedSpans(folder: RecordingFolder, name: string): string {
  return ['traces', 'logs']
    .map((signal) => new URL(`${folder}/${name}.${signal}.jsonl`, FIXTURES))
    .filter((url) => existsSync(url))
    .map((url) => readFileSync(url, 'utf8').trim())
    .join('\n');
}

/** Lists the versions of the packages that sent the recordings in `spans-thirdparty`, by case. */
export function listVersions(): [name: string, versions: Record<string, string>][] {
  const text = readFileSync(new URL('spans-thirdparty/versions.json', FIXTURES), 'utf8');
  return Object.entries(JSON.parse(text) as Record<string, Record<string, string>>);
}
