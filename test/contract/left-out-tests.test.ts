import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Tests of which some need promtool. */
const NEEDS_PROMTOOL = 'test/contract/deploy/autoscalers.test.ts';

let emptyFolder: string;

beforeEach(() => {
  emptyFolder = mkdtempSync(join(tmpdir(), 'spanscore-no-programs-'));
});

afterEach(() => {
  rmSync(emptyFolder, { recursive: true });
});

/** Runs the tests that need promtool on a machine without any program. */
function runWithoutPrograms(variables: Readonly<Record<string, string>>): {
  status: number | null;
  output: string;
} {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'contract', NEEDS_PROMTOOL];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: emptyFolder, HOME: emptyFolder, NO_COLOR: '1', ...variables },
  });
  return { status, output: stdout + stderr };
}

describe('a test that lacks what it needs', () => {
  it('is left out, and says so, on a machine of a developer', () => {
    const { status, output } = runWithoutPrograms({});

    expect([status, output]).toEqual([
      0,
      expect.stringContaining(
        'SKIPPED, NOT PROVED: the metrics of the autoscalers, because there is no promtool',
      ),
    ]);
    expect(output).toMatch(/\d+ passed \| \d+ skipped/);
  });

  it('fails with STRICT_TESTS=1', () => {
    const { status, output } = runWithoutPrograms({ STRICT_TESTS: '1' });

    expect([status, output]).toEqual([1, expect.stringContaining('allows no test to be left out')]);
  });

  it('is told of by one function, which reads the switch', () => {
    const telling = globSync('test/**/*.{ts,mjs}', { cwd: root, exclude: ['**/node_modules/**'] })
      .filter((path) => !path.startsWith('test/contract/left-out-tests'))
      .filter((path) => /SKIPPED[ :,]|NOT PROVED/.test(read(path)));

    expect(telling).toEqual(['test/support/not-proved.ts']);
  });

  it('fails in .ci/run, if nobody asks for less', () => {
    expect(read('.ci/run')).toMatch(/^export STRICT_TESTS="\$\{STRICT_TESTS:-1\}"$/m);
  });
});
