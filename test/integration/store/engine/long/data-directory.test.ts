import { once } from 'node:events';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { startEmbeddedEngine } from '../../../../../src/store/embedded/engine.ts';
import { readOwner, writeOwner } from '../../../../../src/store/embedded/claim-directory.ts';
import {
  useEngineDirectory,
  firstLine,
  isProcessAlive,
  killGroup,
  type EngineAddress,
} from '../../../../support/processes/engine-directory.ts';
import { until } from '../../../../support/until.ts';
import { silentLog } from '../../../../../src/telemetry/log.ts';

const directory = useEngineDirectory();
const LONG_AGO = new Date(Date.now() - 60_000);
/** A moment is enough where the holder is not going to let go. */
const IMPATIENT = { patienceMs: 1_500 };

async function answers(engine: EngineAddress): Promise<boolean> {
  return (await directory.connect(engine).ping({ select: true })).success;
}

async function listRows(client: ClickHouseClient, query: string): Promise<{ n: number }[]> {
  return (await client.query({ query, format: 'JSONEachRow' })).json<{ n: number }>();
}

/** A log that keeps its warnings, which tell whom a process waits for. */
function recordedLog() {
  const warnings: string[] = [];
  return { warnings, log: { ...silentLog, warn: (message: string) => void warnings.push(message) } };
}

/** Makes the owner look as if it had been stopped for long. */
async function hang(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  directory.atEnd(async () => isProcessAlive(pid) && process.kill(pid, 'SIGCONT'));
  await utimes(join(directory.dataDir, 'owner.json'), LONG_AGO, LONG_AGO);
}

describe('a directory on which a serve serves', () => {
  it('is refused to a second one at once, which names the process', async () => {
    const { owner, address } = await directory.ownerProcess();

    const refused = directory.start();

    await expect(refused).rejects.toMatchObject({ code: 'store_in_use' });
    await expect(refused).rejects.toThrow(`process ${owner.pid} serves the data directory`);
    expect(await answers(address)).toBe(true);
  });

  it('is refused while its engine is being started again', async () => {
    const { owner, address } = await directory.ownerProcess();
    process.kill(address.pid, 'SIGKILL');

    await expect(directory.start()).rejects.toThrow(`process ${owner.pid} serves the data directory`);

    await until(async () => answers(address));
  });

  it('has one owner when several processes start at the same time, and the other ones name it', async () => {
    const rivals = [1, 2, 3].map(() => directory.spawnOwner());
    const words = rivals.map(({ owner }) => (owner.stderr === null ? '' : text(owner.stderr)));
    const lines = await Promise.all(rivals.map(({ owner, ended }) => firstLine(owner, ended)));

    const [winner] = rivals.filter((_, n) => lines[n] !== undefined);
    const losers = rivals.flatMap((_, n) => (lines[n] === undefined ? [words[n]] : []));

    expect(losers).toHaveLength(2);
    for (const said of losers) {
      expect(await said).toContain(`process ${winner?.owner.pid} serves the data directory`);
    }
  });

  it('within one process has one owner too', async () => {
    const first = await directory.start();
    first.mark('serving');

    await expect(directory.start()).rejects.toThrow(`process ${process.pid} serves`);
  });
});

describe('a directory whose owner is about to release it', () => {
  it('is waited for, with its process named, and then taken', async () => {
    const { owner, address } = await directory.ownerProcess();
    const client = directory.connect(address);
    const running = listRows(
      client,
      'SELECT sleepEachRow(0.5) AS n FROM numbers(4) SETTINGS max_block_size = 1',
    );
    // Itself, and the one that it looks for.
    const count = 'SELECT count() AS n FROM system.processes';
    await until(async () => Number((await listRows(client, count))[0]?.n) > 1);
    const { log, warnings } = recordedLog();
    const state = () => readOwner(directory.dataDir)?.record.state;

    owner.kill('SIGTERM');
    await until(() => state() === 'stopping');
    const successor = await directory.start({ log });

    // A slow machine may see the owner gone and its engine not yet: that is one more wait.
    expect(warnings[0]).toBe(`waiting for process ${owner.pid} to stop`);
    expect(isProcessAlive(address.pid)).toBe(false);
    expect(await answers(successor)).toBe(true);
    expect(await running).toHaveLength(4);
  });

  it('is waited for while the orphaned engine of a killed owner still runs', async () => {
    const { owner, address } = await directory.ownerProcess();
    process.kill(address.pid, 'SIGSTOP');
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    const { log, warnings } = recordedLog();

    const starting = directory.start({ log });
    await until(() => warnings.length > 0);
    process.kill(address.pid, 'SIGCONT');
    const successor = await starting;

    expect(warnings).toContain(`waiting for process ${address.pid} to stop`);
    await until(() => !isProcessAlive(address.pid));
    expect(await answers(successor)).toBe(true);
  });

  it('is given up after the wait when the orphaned engine does not end', async () => {
    const { owner, address } = await directory.ownerProcess();
    process.kill(address.pid, 'SIGSTOP');
    owner.kill('SIGKILL');
    await once(owner, 'exit');

    const refused = directory.start(IMPATIENT);

    await expect(refused).rejects.toMatchObject({ code: 'store_in_use' });
    await expect(refused).rejects.toThrow(`held by process ${address.pid}`);
    process.kill(address.pid, 'SIGCONT');
  });

  it('goes to one of two that wait; the other one names the owner', async () => {
    const { owner } = await directory.ownerProcess();
    await hang(owner.pid ?? 0);
    const rivals = [1, 2].map(() => directory.spawnOwner());
    const lines = rivals.map(({ owner: rival, ended }) => firstLine(rival, ended));
    const words = rivals.map(({ owner: rival }) => (rival.stderr === null ? '' : text(rival.stderr)));
    await until(async () => (await readdir(directory.dataDir)).includes('owner-next.lock'));

    killGroup(owner);
    const told = await Promise.all(lines);

    const [winner] = rivals.filter((_, n) => told[n] !== undefined);
    const [loser] = words.filter((_, n) => told[n] === undefined);
    expect(told.filter((line) => line !== undefined)).toHaveLength(1);
    expect(await loser).toContain(`process ${winner?.owner.pid} serves the data directory`);
  });
});

describe('a directory whose holder does not answer', () => {
  it('cannot be taken from it: the wait ends with its number and what to do', async () => {
    const { owner } = await directory.ownerProcess();
    await hang(owner.pid ?? 0);

    const refused = directory.start(IMPATIENT);

    await expect(refused).rejects.toMatchObject({ code: 'store_in_use' });
    await expect(refused).rejects.toThrow(
      `belongs to process ${owner.pid}, which did not release it within 1.5 s: it does not answer. End that process (kill -9 ${owner.pid})`,
    );
  });

  it('is refused like a serving one when the owner continues', async () => {
    const { owner } = await directory.ownerProcess();
    await hang(owner.pid ?? 0);
    const { log, warnings } = recordedLog();

    const starting = directory.start({ log });
    await until(() => warnings.length > 0);
    process.kill(owner.pid ?? 0, 'SIGCONT');

    await expect(starting).rejects.toThrow(`process ${owner.pid} serves the data directory`);
  });

  it('is taken as soon as somebody ends the holder', async () => {
    const { owner } = await directory.ownerProcess();
    await hang(owner.pid ?? 0);
    const { log, warnings } = recordedLog();

    const starting = directory.start({ log });
    await until(() => warnings.length > 0);
    killGroup(owner);

    expect(await answers(await starting)).toBe(true);
  });

  it('names the machine of a holder that is elsewhere', async () => {
    const first = await directory.start();
    first.mark('serving');
    writeOwner(directory.dataDir, { pid: 7, host: `not-${hostname()}`, command: 'serve', state: 'serving' });

    await expect(directory.start()).rejects.toThrow(
      `process 7 on not-${hostname()} serves the data directory`,
    );
  });
});

describe('a command that hosts the engine', () => {
  it('is told about a waiting serve, which starts when the command is done', async () => {
    const wanted = Promise.withResolvers<void>();
    const command = await directory.start({ command: 'backfill', onWanted: wanted.resolve });
    command.mark('serving');
    const { log, warnings } = recordedLog();

    const serving = directory.start({ log });
    await wanted.promise;
    await command.stop();

    expect(await answers(await serving)).toBe(true);
    expect(warnings).toEqual([`waiting for process ${process.pid} to stop`]);
  });

  it('does not go before a serve that waits', async () => {
    const first = await directory.start({ command: 'scores' });
    first.mark('serving');
    const { log, warnings } = recordedLog();
    const order: string[] = [];

    const command = directory.start({ command: 'backfill' }).then(() => order.push('backfill'));
    const serve = directory.start({ log }).then(async (engine) => {
      order.push('serve');
      await engine.stop();
    });
    await until(() => warnings.length > 0);
    await first.stop();
    await Promise.all([serve, command]);

    expect(order).toEqual(['serve', 'backfill']);
  });

  it('names itself to a serve that waited in vain', async () => {
    const command = await directory.start({ command: 'migrate' });
    command.mark('serving');

    await expect(directory.start(IMPATIENT)).rejects.toThrow('it runs spanscore migrate');
  });

  it('stops waiting at its signal', async () => {
    await directory.start();
    const { log, warnings } = recordedLog();
    const interrupted = new AbortController();

    const starting = directory.start({ command: 'scores', log, signal: interrupted.signal });
    await until(() => warnings.length > 0);
    interrupted.abort();

    await expect(starting).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('a directory with traces of the past', () => {
  it.each([
    [
      'an address at which nobody answers',
      'engine.json',
      '{"pid":1,"ownerPid":2,"url":"http://127.0.0.1:9","username":"u","password":"p"}',
    ],
    ['a file that is no address', 'engine.json', '{"pid":'],
    [
      'the record of an owner that is gone',
      'owner.json',
      '{"pid":1,"host":"x","command":"serve","state":"serving"}',
    ],
  ])('is taken over %s', async (_name, file, content) => {
    await writeFile(join(directory.dataDir, file), content);

    expect(await answers(await directory.start())).toBe(true);
  });

  it('is left with nothing but the engine, its configuration and its locks', async () => {
    await (await directory.start()).stop();

    expect((await readdir(directory.dataDir)).sort()).toEqual([
      'clickhouse',
      'engine-config.xml',
      'engine.lock',
      'owner.lock',
    ]);
  });

  it('says what to do when its lock cannot be opened', async () => {
    await mkdir(join(directory.dataDir, 'owner.lock'));

    await expect(startEmbeddedEngine({ dataDir: directory.dataDir })).rejects.toMatchObject({
      code: 'config_invalid',
    });
  });

  it('says what to do when its lock is no file that can be locked', async () => {
    await writeFile(join(directory.dataDir, 'owner.lock'), 'this is a text of a person');

    await expect(startEmbeddedEngine({ dataDir: directory.dataDir })).rejects.toThrow('cannot be locked');
  });
});
