import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { build } from 'vite';
import { isDashboardBuilt } from '../../../src/process/package.ts';
import { readServeFile, writeServeFile } from '../../../src/config/serve-file.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

beforeAll(async () => {
  if (!isDashboardBuilt()) {
    const configFile = fileURLToPath(new URL('../../../src/dashboard/vite.config.ts', import.meta.url));
    await build({ configFile, logLevel: 'warn' });
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Folder with the address file of a running `serve`. */
function servedFolder(api: string | null): string {
  const cwd = emptyFolder();
  const clickhouse = { url: 'http://127.0.0.1:1', username: '', password: '', database: '' };
  writeServeFile(join(cwd, '.spanscore'), {
    pid: process.pid,
    api,
    otlpHttp: null,
    otlpGrpc: null,
    clickhouse,
  });
  return cwd;
}

/** A desktop whose browser writes the addresses that it is asked to open. */
function startDesktop(cwd: string, display: Readonly<Record<string, string>>): () => string {
  const [bin, opened] = [join(cwd, 'bin'), join(cwd, 'opened')];
  mkdirSync(bin);
  for (const opener of ['xdg-open', 'open']) {
    const file = join(bin, opener);
    writeFileSync(file, `#!/bin/sh\nprintf '%s' "$*" > '${opened}'\n`);
    chmodSync(file, 0o755);
  }
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
  for (const name of ['DISPLAY', 'WAYLAND_DISPLAY']) {
    vi.stubEnv(name, display[name]);
  }
  return () => (existsSync(opened) ? readFileSync(opened, 'utf8') : '');
}

const ADDRESS = 'http://127.0.0.1:4320/';

describe('spanscore open', () => {
  it.each([
    ['http://127.0.0.1:4320', ADDRESS],
    ['http://0.0.0.0:4320', ADDRESS],
    ['https://[::]:4320', 'https://[::1]:4320/'],
  ])('prints the address of the dashboard of the serve at %s', async (api, expected) => {
    const cwd = servedFolder(api);
    startDesktop(cwd, {});
    expect(await runCommand(['open', '--no-browser'], { cwd })).toMatchObject({
      code: 0,
      stdout: `${expected}\n`,
    });
    const { stdout } = await runCommand(['open', '--no-browser', '--json'], { cwd });
    expect(JSON.parse(stdout)).toEqual({ dashboard: expected, isBuilt: true });
  });

  it.each([{ DISPLAY: ':0' }, { WAYLAND_DISPLAY: 'wayland-0' }])(
    'starts the browser of a desktop (%o)',
    async (display) => {
      const cwd = servedFolder('http://127.0.0.1:4320');
      const readOpened = startDesktop(cwd, display);
      expect(await runCommand(['open'], { cwd })).toMatchObject({ code: 0, stderr: '' });
      await expect.poll(readOpened).toBe(ADDRESS);
    },
  );

  it.runIf(process.platform === 'linux')('starts none without a desktop, nor when told', async () => {
    const cwd = servedFolder('http://127.0.0.1:4320');
    const readOpened = startDesktop(cwd, {});
    expect(await runCommand(['open'], { cwd })).toMatchObject({
      code: 0,
      stdout: `${ADDRESS}\n`,
      stderr: '',
    });
    vi.stubEnv('DISPLAY', ':0');
    expect(await runCommand(['open', '--no-browser'], { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(readOpened()).toBe('');
  });

  it.runIf(process.platform === 'linux')('says so when the browser cannot be started', async () => {
    const cwd = servedFolder('http://127.0.0.1:4320');
    vi.stubEnv('PATH', join(cwd, 'nowhere'));
    vi.stubEnv('DISPLAY', ':0');
    const { code, stdout, stderr } = await runCommand(['open'], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${ADDRESS}\n` });
    expect(stderr).toContain('xdg-open cannot be started; open the address yourself');
  });

  it.each([
    ['no serve runs', () => emptyFolder()],
    ['the serve has no API', () => servedFolder(null)],
  ])('ends with 69 when %s, and says what to do', async (_, makeFolder) => {
    const cwd = makeFolder();
    const { code, stdout, stderr } = await runCommand(['open'], { cwd });
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
    expect(stderr).toContain(`no serve with the role api runs on ${join(cwd, '.spanscore')}`);
    expect(stderr).toContain('start one with spanscore serve');
  });
});

it('serve prints the address of the dashboard alone, last, when it is ready, and the dashboard answers there', async () => {
  const cwd = emptyFolder();
  const any = "{ endpoint: '127.0.0.1:0' }";
  writeFileSync(
    join(cwd, 'spanscore.config.yaml'),
    `receivers: { otlp: { http: ${any}, grpc: ${any} } }\napi: ${any}\nrules: []\n`,
  );
  const stopping = new AbortController();
  const ended = runCommand(['serve', '--role', 'store,api'], { cwd, signal: stopping.signal });
  const readApi = () => readServeFile(join(cwd, '.spanscore'))?.api ?? null;
  await expect.poll(readApi).not.toBeNull();
  const api = `${readApi()}/`;
  const page = await fetch(api);
  stopping.abort('SIGTERM');
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  expect(stdout.endsWith(`\n${api}\n`)).toBe(true);
  expect(page.headers.get('content-type')).toContain('text/html');
});
