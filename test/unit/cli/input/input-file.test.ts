import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readScoreLines } from '../../../../src/cli/commands/alerts.ts';
import { findInputFile } from '../../../../src/cli/input/input-file.ts';
import { readLabelText } from '../../../../src/cli/input/label-file.ts';
import { findTraceFiles } from '../../../../src/cli/input/trace-files.ts';
import { MIB } from '../../../../src/domain/byte-sizes.ts';
import { InvalidInputError, NotFoundError } from '../../../../src/domain/errors.ts';
import { emptyFolder } from '../../../support/processes/cli.ts';

let cwd: string;

beforeEach(() => {
  cwd = emptyFolder();
});

async function* noInput() {}
const context = (stdin: AsyncIterable<Buffer | string> = noInput()) => ({ cwd, stdin });

async function readScores(name: string) {
  const scores = [];
  for await (const score of readScoreLines(name, context())) {
    scores.push(score);
  }
  return scores;
}

/** Makes a pipe like that of `<(…)`, and writes a text into it as soon as somebody reads. */
function makePipe(text: string): string {
  const name = 'pipe';
  execFileSync('mkfifo', [join(cwd, name)]);
  void writeFile(join(cwd, name), text);
  return name;
}

describe('a file to read', () => {
  it('may be a pipe of labels', async () => {
    const text = 'traceId,note\n1,größer 🎉\n';
    expect(await readLabelText(makePipe(text), context())).toBe(text);
  });

  it('may be a pipe of scores', async () => {
    const pipe = makePipe('{"scoredAt":"2026-01-01T00:03:10Z","score":0.83}\n');
    expect(await readScores(pipe)).toMatchObject([
      { series: { name: 'scores' }, atMs: Date.UTC(2026, 0, 1, 0, 3, 10) },
    ]);
  });

  it.each([
    ['findInputFile', (name: string) => findInputFile(cwd, name)],
    ['labels', (name: string) => readLabelText(name, context())],
    ['scores', readScores],
    ['traces', (name: string) => findTraceFiles([name], context())],
  ])('is neither a folder nor absent: %s', async (_, read) => {
    const folder = await read('.').catch((error: unknown) => error);
    expect(folder).toBeInstanceOf(InvalidInputError);
    expect(folder).toHaveProperty('message', expect.stringContaining(`${cwd} is not a file`));
    const absent = await read('none').catch((error: unknown) => error);
    expect(absent).toBeInstanceOf(NotFoundError);
    expect(absent).toHaveProperty(
      'message',
      expect.stringContaining(`${join(cwd, 'none')} cannot be read: ENOENT`),
    );
  });
});

describe('the text of labels', () => {
  it('has up to 64 MiB, also from a source that does not say its size', async () => {
    async function* large(size: number) {
      yield* Array.from({ length: size / MIB }, () => Buffer.alloc(MIB, 'a'));
      yield 'b';
    }
    expect(await readLabelText('-', context(large(63 * MIB)))).toHaveLength(63 * MIB + 1);
    await expect(readLabelText('-', context(large(64 * MIB)))).rejects.toThrow(
      'stdin is larger than 64 MiB; split it',
    );
  });

  it('keeps characters whose bytes come in two parts', async () => {
    async function* halves() {
      const bytes = Buffer.from('a🎉b');
      yield bytes.subarray(0, 3);
      yield bytes.subarray(3);
    }
    expect(await readLabelText('-', context(halves()))).toBe('a🎉b');
  });
});
