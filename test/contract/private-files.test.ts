import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Writers of files without content and secrets: the configuration of `init`, which containers of another user read; a pipe; /proc. */
const OPEN = [
  "writeFile(path, text, { flag: 'wx' })",
  'createWriteStream(file)',
  "writeFileSync('/proc/self/oom_score_adj', '1000')",
];

test('every file is written for its user alone', () => {
  const calls = globSync('{src,collector}/**/*.ts', { cwd: root, exclude: ['src/dashboard/**'] }).flatMap(
    (path) =>
      [
        ...readFileSync(`${root}${path}`, 'utf8').matchAll(
          /\b(?:(?:writeFile|appendFile)(?:Sync)?|createWriteStream|openSync)\((?:[^()]|\([^()]*\))*\)/g,
        ),
      ].map(([call]) => call),
  );
  const open = calls.filter((call) => !call.includes('0o600') && !OPEN.includes(call));

  expect(calls.length).toBeGreaterThan(8);
  expect(open).toEqual([]);
});
