import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ServeFolder } from '../support/processes/serve-process.ts';

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

it('a serve whose store hangs ends in time on SIGTERM, and tells what it left behind', async () => {
  await folder.start();
  const published = readFileSync(join(folder.dataDir, 'engine.json'), 'utf8');
  enginePid = (JSON.parse(published) as { pid: number }).pid;
  process.kill(enginePid, 'SIGSTOP');

  const startedMs = performance.now();
  const code = await folder.stop();

  expect(performance.now() - startedMs).toBeLessThan(GRACE_MS + 5_000);
  expect(code).toBe(130);
  expect(folder.output).toMatch(
    /did not stop cleanly part=engine error="not within 6000 ms; it is left behind"/u,
  );
});
