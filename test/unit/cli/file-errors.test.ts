import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import { explainFileError } from '../../../src/cli/run.ts';

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('explainFileError', () => {
  it('says what to do when a file cannot be used', () => {
    const noRight = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      path: '/x/y.json',
    });
    const isFolder = {
      path: import.meta.dirname,
      ...(thrownBy(() => readFileSync(import.meta.dirname)) as object),
    };

    expect(explainFileError(noRight)).toBeInstanceOf(InvalidInputError);
    expect(explainFileError(noRight)).toMatchObject({
      message:
        '/x/y.json: permission denied; run the command as a user who may use it, or change its permissions (EACCES)',
      cause: noRight,
    });
    expect(explainFileError(Object.assign(new Error('EISDIR'), isFolder))).toMatchObject({
      message: expect.stringContaining('this is a folder; name a file'),
    });
  });

  it.each([
    new Error('else'),
    Object.assign(new Error('reset'), { code: 'ECONNRESET', path: '/sock' }),
    'text',
  ])('leaves any other error as it is: %s', (thrown) => {
    expect(explainFileError(thrown)).toBe(thrown);
  });
});
