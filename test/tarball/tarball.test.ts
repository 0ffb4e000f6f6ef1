import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  exports: Record<string, unknown>;
};
const entryPoints = Object.keys(manifest.exports)
  .filter((name) => name !== './package.json')
  .map((name) => name.replace(/^\./, 'spanscore'));

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-tarball-'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: root });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  await run('npm', ['install', '--omit=optional', `./spanscore-${manifest.version}.tgz`], { cwd: folder });
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function node(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: folder });
  return stdout.trim();
}

describe('the packed package, installed in an empty folder without optional dependencies', () => {
  const bin = 'node_modules/spanscore/dist/src/cli/main.js';

  it('prints its version', async () => {
    expect(await node(bin, '--version')).toBe(manifest.version);
  });

  it('checks the default configuration', async () => {
    await expect(node(bin, 'check-config')).resolves.toBeTypeOf('string');
  });

  it.each(entryPoints)('%s can be imported', async (name) => {
    const names = await node(
      '--input-type=module',
      '-e',
      `console.log(Object.keys(await import('${name}')).length)`,
    );

    expect(Number(names)).toBeGreaterThan(0);
  });

  it.each(entryPoints)('%s can be required', async (name) => {
    const names = await node(
      '--input-type=commonjs',
      '-e',
      `console.log(Object.keys(require('${name}')).length)`,
    );

    expect(Number(names)).toBeGreaterThan(0);
  });
});
