import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeServeFile } from '../../../src/config/serve-file.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

it('status ends with 69 where nothing serves, names the folder, and makes none', async () => {
  const cwd = emptyFolder();
  const { code, stdout, stderr } = await runCommand(['status'], { cwd });
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
  expect(stderr).toContain(`no serve runs on ${join(cwd, '.spanscore')}: start one with spanscore serve`);
  expect(readdirSync(cwd)).toEqual([]);
});

it('status ends with 69 where the serve of the folder does not answer', async () => {
  const cwd = emptyFolder();
  const dead = {
    pid: process.pid,
    otlpHttp: null,
    otlpGrpc: null,
    api: 'http://127.0.0.1:1',
    clickhouse: null,
  };
  writeServeFile(join(cwd, '.spanscore'), dead);
  const { code, stderr } = await runCommand(['status'], { cwd });
  expect(code).toBe(69);
  expect(stderr).toContain(`the serve with pid ${process.pid} does not answer at http://127.0.0.1:1/readyz`);
});
