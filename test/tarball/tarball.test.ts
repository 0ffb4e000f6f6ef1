import { once } from 'node:events';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrokenLinks } from '../support/documents/markdown-links.ts';
import { readBlocks } from '../support/documents/quickstarts.ts';
import { OLD_NODE, OLD_NODE_REFUSAL } from '../support/processes/cli.ts';
import { packPackage } from './packed-package.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  exports: Record<string, unknown>;
  devDependencies: { vitest: string };
};
const entryPoints = Object.keys(manifest.exports)
  .filter((name) => name !== './package.json')
  .map((name) => name.replace(/^\./, 'spanscore'));

/** Folder in which the package is installed without its optional dependencies. */
let folder: string;
let tarball: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-tarball-'));
  tarball = await packPackage();
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  // `spanscore/vitest` is for people who have Vitest.
  const packages = [tarball, `vitest@${manifest.devDependencies.vitest}`];
  await run('npm', ['install', '--omit=optional', ...packages], { cwd: folder });
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

  it('keeps the rules of npm and Node.js for packages', async () => {
    const { messages } = await publint({ pack: { tarball: new Uint8Array(readFileSync(tarball)).buffer } });

    expect(messages).toEqual([]);
  });

  it('prints its version', async () => {
    expect(await node(bin, '--version')).toBe(manifest.version);
  });

  it('says in one sentence that a Node.js is too old', async () => {
    const refused = node(...OLD_NODE, bin, '--version');

    await expect(refused).rejects.toMatchObject({ code: 1, stdout: '', stderr: OLD_NODE_REFUSAL });
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

/** The commands of the sections that a user of the package follows; those for a checkout are left out. */
function readCommands(): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const sections = readme
    .split(/^## /m)
    .filter((section) => /^(Try it|Score your own agent)\n/.test(section));
  return sections
    .flatMap((section) => readBlocks(section, 'sh'))
    .flatMap((block) => block.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^npm (ci|test)\b/.test(line));
}

/** Ports that are free, and `npx` under the Node that runs the tests. */
const environment = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT: '127.0.0.1:0',
  SPANSCORE_RECEIVERS_OTLP_GRPC_ENDPOINT: '127.0.0.1:0',
  SPANSCORE_API_ENDPOINT: '127.0.0.1:0',
};

describe('the first commands of the README, in an empty folder', () => {
  let userFolder: string;
  let started: ChildProcess | undefined;

  beforeAll(() => {
    userFolder = mkdtempSync(join(tmpdir(), 'spanscore-readme-'));
  });

  afterAll(() => {
    if (started?.pid !== undefined && started.exitCode === null) {
      process.kill(-started.pid, 'SIGKILL');
    }
    rmSync(userFolder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  /** Runs a line as a shell does; the package comes from the packed file, for what is tested is not published yet. */
  async function runLine(line: string): Promise<string> {
    const command = line.replace('npm install spanscore', `npm install ${tarball}`);
    const { stdout, stderr } = await run('sh', ['-c', command], { cwd: userFolder, env: environment });
    return stdout + stderr;
  }

  /** Starts a command as the leader of a process group of its own, and waits for a part of its output. */
  async function startLine(line: string, awaited: RegExp): Promise<string> {
    let output = '';
    started = spawn('sh', ['-c', line], { cwd: userFolder, env: environment, detached: true });
    started.stdout?.on('data', (data: Buffer) => (output += data.toString()));
    started.stderr?.on('data', (data: Buffer) => (output += data.toString()));
    await expect.poll(() => output, { timeout: 100_000 }).toMatch(awaited);
    return output;
  }

  /** Runs the demonstration until its page is there, and ends it as Ctrl-C does. */
  async function runDemo(line: string): Promise<string> {
    const output = await startLine(line, /dashboard .*\n +http\S+\n/);
    const address = /dashboard .*\n +(http\S+)/.exec(output)?.[1] ?? '';
    expect(await (await fetch(address)).text()).toContain('<html');
    process.kill(-(started?.pid ?? 0), 'SIGINT');
    await once(started as ChildProcess, 'exit');
    return output;
  }

  async function follow(line: string): Promise<string> {
    if (line === 'npx spanscore demo') {
      return runDemo(line);
    }
    return line === 'npx spanscore serve' ? startLine(line, /OTLP\/HTTP/) : runLine(line);
  }

  it('can be run one after the other', async () => {
    const outputs = new Map<string, string>();
    for (const line of readCommands()) {
      outputs.set(line, await follow(line));
    }

    expect([...outputs.keys()]).toEqual([
      'npm install spanscore',
      'npx spanscore demo',
      'npx spanscore serve',
      'export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318',
      'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
      'npx spanscore scores',
      'npx spanscore traces',
    ]);
    expect(outputs.get('npm install spanscore')).not.toMatch(/install-scripts +spanscore/);
    expect(outputs.get('npx spanscore demo')).toContain('1 of 2 claims does not hold');
    expect(outputs.get('npx spanscore scores')).toContain('no scores match');
  });

  it('leave a package in which every relative link leads somewhere', () => {
    expect(findBrokenLinks(join(userFolder, 'node_modules/spanscore'))).toEqual([]);
  });
});
