import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  exports: Record<string, string | { default: string; types: string }>;
};

const sources = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === 'string' ? [] : [{ name, source: formatSource(target.default) }],
);

/** Heavy packages that a scorer library must not load. */
const HEAVY = /node_modules\/(@clickhouse|chdb|kafkajs|@opentelemetry|@grpc|ai|@ai-sdk|pino|commander)\//;

function formatSource(built: string): string {
  return built.replace('./dist/', './').replace(/\.js$/, '.ts');
}

const loads = new Map<string, Promise<string[]>>();

/** Lists the modules that an import of a source loads, in a process of its own. */
function loadedBy(source: string): Promise<string[]> {
  const load = loads.get(source) ?? recordLoad(source);
  loads.set(source, load);
  return load;
}

async function recordLoad(source: string): Promise<string[]> {
  const { stderr } = await run(
    process.execPath,
    [
      '--import',
      './test/support/processes/record-modules.mjs',
      '--input-type=module',
      '-e',
      `await import('${source}')`,
    ],
    { cwd: root, maxBuffer: 16 << 20 },
  );
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('loaded '))
    .map((line) => line.slice('loaded '.length));
}

describe('entry points', () => {
  it.each(sources)('$name can be imported from source', async ({ source }) => {
    const loaded = await loadedBy(source);

    expect(loaded.some((url) => url.endsWith(source.replace('./', '/')))).toBe(true);
  });

  it.each(sources.filter(({ name }) => /evals|scorers|conventions|legacy|checks/.test(name)))(
    '$name loads no client, SDK or model package',
    async ({ source }) => {
      const loaded = await loadedBy(source);

      expect(loaded.filter((url) => HEAVY.test(url))).toEqual([]);
    },
  );

  it.each(sources)('$name can be required', async ({ source }) => {
    const { stdout } = await run(
      process.execPath,
      ['--no-warnings', '-e', `console.log(Object.keys(require('${source}')).length)`],
      { cwd: root },
    );

    expect(Number(stdout)).toBeGreaterThan(0);
  });
});
