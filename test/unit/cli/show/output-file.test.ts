import { lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeOutputFile } from '../../../../src/cli/show/output-file.ts';
import { InvalidInputError } from '../../../../src/domain/errors.ts';
import { emptyFolder } from '../../../support/processes/cli.ts';

let cwd: string;
let stop: AbortController;

beforeEach(() => {
  cwd = emptyFolder();
  stop = new AbortController();
});

const write = (name: string, chunks: AsyncIterable<string>) =>
  writeOutputFile({ cwd, signal: stop.signal }, name, chunks);

const read = (name: string) => readFileSync(join(cwd, name), 'utf8');

async function* chunksOf(...texts: string[]) {
  yield* texts;
}

describe('an output file', () => {
  it('replaces a former one when it is whole, and leaves nothing beside it', async () => {
    writeFileSync(join(cwd, 'x.csv'), 'a longer text from before');
    const seen: string[] = [];
    async function* watched() {
      yield 'größer\n';
      seen.push(read('x.csv'));
      yield 'b\n';
    }

    expect(await write('x.csv', watched())).toEqual({ file: join(cwd, 'x.csv'), bytes: 11 });

    expect(seen).toEqual(['a longer text from before']);
    expect(read('x.csv')).toBe('größer\nb\n');
    expect(readdirSync(cwd)).toEqual(['x.csv']);
    // It may quote conversations: no other user of the machine reads it.
    expect(lstatSync(join(cwd, 'x.csv')).mode & 0o777).toBe(0o600);
  });

  it('leaves a former one as it was when its content fails, and the error is that of the content', async () => {
    writeFileSync(join(cwd, 'x.csv'), 'before');
    async function* failing() {
      yield 'a';
      throw new Error('the store is away');
    }

    await expect(write('x.csv', failing())).rejects.toThrow('the store is away');

    expect(read('x.csv')).toBe('before');
    expect(readdirSync(cwd)).toEqual(['x.csv']);
  });

  it('leaves nothing behind at the moment of Ctrl-C, though its content hangs', async () => {
    const hanging = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    async function* endless() {
      yield 'a';
      reached.resolve();
      await hanging.promise;
    }
    const written = write('x.csv', endless());
    await reached.promise;
    expect(readdirSync(cwd)).toEqual([`x.csv.${process.pid}.partial`]);

    stop.abort('SIGINT');

    expect(readdirSync(cwd)).toEqual([]);
    hanging.resolve();
    await expect(written).rejects.toThrow('aborted');
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('is not begun after Ctrl-C', async () => {
    stop.abort(new Error('SIGINT'));

    await expect(write('x.csv', chunksOf('a'))).rejects.toThrow('SIGINT');

    expect(readdirSync(cwd)).toEqual([]);
  });

  it('is written through a link', async () => {
    writeFileSync(join(cwd, 'x.csv'), 'before');
    symlinkSync('x.csv', join(cwd, 'link.csv'));

    await write('link.csv', chunksOf('after'));

    expect(read('x.csv')).toBe('after');
    expect(lstatSync(join(cwd, 'link.csv')).isSymbolicLink()).toBe(true);
  });

  it.runIf(process.platform === 'linux')('may be a device, which keeps its place', async () => {
    expect(await write('/dev/null', chunksOf('a'))).toEqual({ file: '/dev/null', bytes: 1 });
    expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it.runIf(process.platform === 'linux').each([
    ['.', /cannot be written: EISDIR/u],
    ['no/folder/x.csv', /x\.csv cannot be written: ENOENT/u],
    ['/dev/full', /\/dev\/full cannot be written: ENOSPC/u],
  ])('cannot be %s', async (name, message) => {
    const refused = write(name, chunksOf('a'));
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
  });
});
