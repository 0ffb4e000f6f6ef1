import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'spanscore-rules-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes files into the folder of the test: text by path. */
function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Runs a tool of the project in the folder. Returns its standard output; a finding makes it exit with an error. */
async function run(tool: string, ...args: string[]): Promise<string> {
  const binary = join(root, 'node_modules', '.bin', tool);
  try {
    return (await promisify(execFile)(binary, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

interface ImportRule {
  readonly name: string;
  readonly from: { readonly path: string };
  readonly to: { readonly pathNot?: string | readonly string[] };
}

const { default: checker } = (await import(join(root, '.dependency-cruiser.mjs'))) as {
  default: { readonly forbidden: readonly ImportRule[] };
};

const rooms = checker.forbidden.filter(({ name }) => name.startsWith('imports-of-'));

describe('the import rules', () => {
  it('have a row for every room', () => {
    expect(rooms.length).toBeGreaterThan(15);
  });

  it('let only the room that opens the store see more of it than its contracts', () => {
    const seeing = rooms.filter(({ to }) =>
      [to.pathNot].flat().some((path) => /^\^src\/(store\/)?$/.test(path ?? '')),
    );
    expect(seeing.map(({ name }) => name).sort()).toEqual([
      'imports-of-src-store',
      'imports-of-src-store-connection',
    ]);
  });

  it('find one import that breaks each of them', async () => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    // Nothing may import this file but its own room, so one import of it breaks the rule of any other room.
    write({ 'src/nobody/secret.ts': 'export const secret = 1;\n' });
    write({ 'src/cli/face.ts': 'export const face = 1;\n' });
    write({ 'src/scorers/prebuilt/other.ts': 'export const other = 1;\n' });
    write({ 'test/helper.ts': 'export const helper = 1;\n' });
    write({
      'src/loop/a.ts': "import './b.ts';\nexport const a = 1;\n",
      'src/loop/b.ts': "import './a.ts';\n",
    });
    write({ 'src/scorers/prebuilt/one.ts': "import './other.ts';\n" });
    write({
      'src/api/client.ts':
        "import '@clickhouse/client';\nimport '../../test/helper.ts';\nimport '../cli/face.ts';\n",
    });
    write({ 'src/store/store.ts': 'export const store = 1;\n' });
    write({ 'src/scoring/stored.ts': "import '../store/store.ts';\n" });
    write({ 'src/config/dev.ts': "import 'fast-check';\n" });
    write({ 'src/dashboard/value.tsx': "import '../api/client.ts';\n" });
    write({ 'src/config/libraries.ts': "import 'kafkajs';\nexport const nlp = import('compromise');\n" });
    const expected = new Set<string>([
      'no-circular',
      'prebuilt-scorers-stand-alone',
      'nothing-imports-the-cli',
      'only-the-store-knows-clickhouse',
      'only-one-file-imports-kafkajs',
      'only-one-file-imports-compromise',
      'not-to-dev-dep',
      'not-to-test',
      'the-dashboard-takes-types-of-the-api',
      'rooms-take-types-of-the-store',
    ]);
    for (const { name, from } of rooms) {
      const room = from.path.replace('^', '').replaceAll('\\', '').replace('$', '').replace(/\/$/, '');
      const isFile = room.endsWith('.ts');
      const up = isFile ? './' : '../'.repeat(room.split('/').length);
      write({
        [isFile ? room : `${room}/broken.ts`]: `import '${up}${isFile ? '' : 'src/'}nobody/secret.ts';\n`,
      });
      expected.add(name);
    }
    const output = await run(
      'depcruise',
      '--config',
      join(root, '.dependency-cruiser.mjs'),
      '-T',
      'json',
      'src',
      'collector',
    );
    const found = JSON.parse(output) as { summary: { violations: { rule: { name: string } }[] } };
    const names = new Set(found.summary.violations.map(({ rule }) => rule.name));
    expect([...expected].filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('the lint rules of rooms', () => {
  it('find I/O in a room that does none, and a second reader of the environment', async () => {
    copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    const patterns = readFileSync(join(root, '.oxlintrc.json'), 'utf8');
    const pure = /src\/\{([a-z,]+)\}\/\*\*/.exec(patterns)?.[1]?.split(',') ?? [];
    expect(pure).toContain('domain');
    for (const room of pure) {
      write({
        [`src/${room}/reads.ts`]:
          "import { readFileSync } from 'node:fs';\nexport const text = readFileSync('a');\n",
        [`src/${room}/connects.ts`]:
          "import { connect } from 'node:net';\nexport const socket = connect(1);\n",
        [`src/${room}/fetches.ts`]: "export const reply = fetch('http://a');\n",
      });
    }
    write({ 'src/api/environment.ts': 'export const home = process.env.HOME;\n' });
    write({ 'src/api/exit.ts': 'export const end = () => process.exit(1);\n' });
    const output = await run('oxlint', '-f', 'json', 'src');
    const { diagnostics } = JSON.parse(output) as { diagnostics: { filename: string; code: string }[] };
    const found = new Set(diagnostics.map(({ filename, code }) => `${filename} ${code}`));
    const missing = [
      ...pure.flatMap((room) => [
        `src/${room}/reads.ts eslint(no-restricted-imports)`,
        `src/${room}/connects.ts eslint(no-restricted-imports)`,
        `src/${room}/fetches.ts eslint(no-restricted-globals)`,
      ]),
      'src/api/environment.ts eslint(no-restricted-properties)',
      'src/api/exit.ts eslint(no-restricted-properties)',
    ].filter((line) => !found.has(line));
    expect(missing).toEqual([]);
  });
});
