import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ServeFolder } from '../../../support/processes/serve-process.ts';
import { until } from '../../../support/until.ts';

let folder: ServeFolder;
beforeEach(() => {
  folder = new ServeFolder();
});
afterEach(() => folder.dispose());

it.each([0, 150, 400, 800])(
  'a serve whose engine is killed %s ms into its first migration serves all the same',
  async (delayMs) => {
    const engineFile = join(folder.dataDir, 'engine.json');
    const starting = folder.start();
    await until(() => existsSync(engineFile));
    await sleep(delayMs);
    const { pid } = JSON.parse(readFileSync(engineFile, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGKILL');

    const { api } = await starting;

    expect(folder.output).toContain('the embedded engine runs again');
    await until(async () => (await fetch(`${api}/readyz`)).status === 200);
    expect(await folder.stop()).toBe(0);
  },
);
