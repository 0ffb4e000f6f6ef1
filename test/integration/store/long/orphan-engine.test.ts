import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Log, silentLog } from '../../../../src/telemetry/log.ts';
import {
  useEngineDirectory,
  isProcessAlive,
  type OwnerProcess,
} from '../../../support/processes/engine-directory.ts';
import { until } from '../../../support/until.ts';

const directory = useEngineDirectory();

const recordedLog = (lines: string[]): Log => {
  const write: Log['warn'] = (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  return { ...silentLog, info: write, warn: write, error: write };
};

/** An engine that hangs and whose owner was killed. Returns the engine's process. */
async function hungOrphan(): Promise<{ pid: number; owner: OwnerProcess }> {
  const owner = await directory.ownerProcess();
  const { pid } = owner.address;
  process.kill(pid, 'SIGSTOP');
  owner.owner.kill('SIGKILL');
  await once(owner.owner, 'exit');
  return { pid, owner };
}

it('a hung engine whose owner was killed is killed by the next start, which says so', async () => {
  const { pid } = await hungOrphan();
  const lines: string[] = [];

  const engine = await directory.start({ log: recordedLog(lines) });

  expect(engine.pid).not.toBe(pid);
  await until(() => !isProcessAlive(pid));
  expect(lines).toContain(
    `an engine of this directory whose owner has ended does not answer; it is killed {"pid":${pid}}`,
  );
});

it('a process that only has the number of an engine is left alone', async () => {
  const { pid } = await hungOrphan();
  const path = join(directory.dataDir, 'engine.json');
  const record = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...record, startedAt: 'another start' }));

  await expect(directory.start({ patienceMs: 9_000 })).rejects.toMatchObject({ code: 'store_in_use' });

  expect(isProcessAlive(pid)).toBe(true);
  process.kill(pid, 'SIGKILL');
  await until(() => !isProcessAlive(pid));
});

it('an engine that hangs at the stop is killed within the time of the stop', async () => {
  const lines: string[] = [];
  const engine = await directory.start({ log: recordedLog(lines) });
  const { pid } = engine;
  process.kill(pid, 'SIGSTOP');

  await engine.stop();

  expect(isProcessAlive(pid)).toBe(false);
  expect(lines).toContain(`the embedded engine did not end within 5000 ms; it was killed {"pid":${pid}}`);
});
