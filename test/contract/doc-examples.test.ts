import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
/** Inside the repository, so that the examples find the packages that the project has. */
const folder = new URL('node_modules/.cache/doc-examples/', root);

interface Example {
  readonly page: string;
  readonly code: string;
}

/** Every TypeScript example of a page. One that scores `run` without making one takes that of the page's first example. */
function listExamples(page: string): Example[] {
  const text = readFileSync(new URL(page, root), 'utf8');
  const blocks = [...text.matchAll(/```(?:ts|typescript)\n(.*?)```/gs)].map(([, code = '']) => code);
  const [first = ''] = blocks;
  return blocks.map((code) => ({
    page,
    code: code.includes('.run(run)') ? `${first}\n${code}` : code,
  }));
}

/** The entry points by the names that users import them by, as they stand in the source. */
function entryPoints(): Record<string, string[]> {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    exports: Record<string, string | { types: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, target]) =>
      typeof target === 'string'
        ? []
        : [[`spanscore${name.slice(1)}`, [formatSource(target.types)]] as [string, string[]]],
    ),
  );
}

function formatSource(types: string): string {
  return fileURLToPath(new URL(types.replace('./dist/', './').replace(/\.d\.ts$/, '.ts'), root));
}

/** Messages of the compiler on the examples; '' without a fault. */
function compile(examples: readonly Example[]): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [index, { page, code }] of examples.entries()) {
    const name = `${page.replaceAll(/\W/g, '-')}-${index}.ts`;
    writeFileSync(new URL(name, folder), `${code}\nexport {};\n`);
  }
  const config = {
    extends: fileURLToPath(new URL('tsconfig.json', root)),
    compilerOptions: { noUnusedLocals: false, paths: entryPoints() },
    include: ['*.ts'],
  };
  const configFile = fileURLToPath(new URL('tsconfig.json', folder));
  writeFileSync(configFile, JSON.stringify(config));
  const tsc = fileURLToPath(new URL('node_modules/.bin/tsc', root));
  return new Promise((resolve) => {
    execFile(tsc, ['-p', configFile], (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

/** The lines about the examples themselves. */
function aboutExamples(said: string): string[] {
  return said.split('\n').filter((line) => line.includes('doc-examples/'));
}

const pages = ['README.md', ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`)];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the TypeScript examples of the documentation', () => {
  const files = ['examples/own-scorer.ts'];
  const examples = [
    ...pages.filter((page) => page.endsWith('.md')).flatMap(listExamples),
    ...files.map((page) => ({ page, code: readFileSync(new URL(page, root), 'utf8') })),
  ];

  it('are found', () => {
    const found = new Set(examples.map(({ page }) => page));
    expect(found).toContain('README.md');
    expect(found).toContain('docs/scorers.md');
  });

  it('compile as a user would compile them', async () => {
    expect(aboutExamples(await compile(examples))).toEqual([]);
  });

  it('are looked at by a compiler that finds faults', async () => {
    const code =
      "import { createHallucinationScorer } from 'spanscore/scorers';\ncreateHallucinationScorer({});\n";
    const [fault] = aboutExamples(await compile([{ page: 'fault.md', code }]));
    expect(fault).toContain("Argument of type '{}' is not assignable");
  });
});
