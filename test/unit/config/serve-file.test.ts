import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  readServeFile,
  removeServeFile,
  writeServeFile,
  type ServeFile,
} from '../../../src/config/serve-file.ts';
import { folderWith } from '../../support/builders/config-files.ts';

function aServeFile(pid: number): ServeFile {
  return {
    pid,
    otlpHttp: 'http://127.0.0.1:4318',
    otlpGrpc: null,
    api: 'http://127.0.0.1:4320',
    clickhouse: { url: 'http://127.0.0.1:1', username: 'u', password: 'p', database: 'd' },
  };
}

/** No process has it: above the greatest pid that Linux gives. */
const NOBODY = 2 ** 22 + 1;

describe('serve.json', () => {
  it('is read back, for its owner only', () => {
    const folder = join(folderWith({}), 'new');

    writeServeFile(folder, aServeFile(process.pid));

    expect(readServeFile(folder)).toEqual(aServeFile(process.pid));
    expect(statSync(join(folder, 'serve.json')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['serve.json']);
  });

  it('of a process that is gone is no answer', () => {
    const folder = folderWith({});

    writeServeFile(folder, aServeFile(NOBODY));

    expect(readServeFile(folder)).toBeUndefined();
  });

  it.each(['', '{', '{"pid":1}', 'null'])('with %j in it is no answer', (text) => {
    const folder = folderWith({});
    writeFileSync(join(folder, 'serve.json'), text);

    expect(readServeFile(folder)).toBeUndefined();
  });

  it('that does not exist is no answer', () => {
    expect(readServeFile(join(folderWith({}), 'nowhere'))).toBeUndefined();
  });

  it('is removed by the process that wrote it only', () => {
    const folder = folderWith({});
    writeServeFile(folder, aServeFile(process.pid));

    removeServeFile(folder, NOBODY);
    expect(existsSync(join(folder, 'serve.json'))).toBe(true);
    removeServeFile(folder, process.pid);
    expect(existsSync(join(folder, 'serve.json'))).toBe(false);
    removeServeFile(folder, process.pid);
  });
});
