import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { isProcessAlive } from '../../support/processes/engine-directory.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';

/** Grace time of process supervisors before they kill, milliseconds. */
const GRACE_MS = 30_000;

const folder = new ServeFolder();
let enginePid: number | undefined;

afterEach(async () => {
  if (enginePid !== undefined) {
    process.kill(enginePid, 'SIGKILL');
  }
  await folder.dispose();
});

it('a serve whose engine hangs ends in time on SIGTERM, and the engine with it', async () => {
  await folder.start();
  const published = readFileSync(join(folder.dataDir, 'engine.json'), 'utf8');
  enginePid = (JSON.parse(published) as { pid: number }).pid;
  process.kill(enginePid, 'SIGSTOP');

  const startedMs = performance.now();
  const code = await folder.stop();

  expect(performance.now() - startedMs).toBeLessThan(GRACE_MS + 5_000);
  expect(code).toBe(130);
  expect(folder.output).toMatch(/the embedded engine did not end within 5000 ms; it was killed/u);
  expect(isProcessAlive(enginePid)).toBe(false);
  enginePid = undefined;
});
