import { existsSync, readdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readManifest, type Manifest } from '../../../src/app/backup/backup-files.ts';
import { readDigest } from '../../../src/store/backup/table-digest.ts';
import { readEngineFile } from '../../../src/store/embedded/engine-file.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { emptyFolder, requireDone, runCli, startCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows, runCommand, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { digestTables, withStore } from '../../support/store/kept-folder.ts';
import { until } from '../../support/until.ts';

const SCORERS = ['keyword-coverage', 'no-tool-errors'];

/** Decisions `scored` that have no score. */
const WITHOUT_SCORE = `SELECT TraceId, Scorer FROM decisions FINAL WHERE Status = 'scored' AND Scorer != '*'
  AND (TraceId, Scorer) NOT IN (SELECT TraceId, Scorer FROM scores FINAL)`;

/** Database into which the test restores the tables of the backup itself. */
const CHECKED = 'checked';

/** Tables whose rows a restore adds to. Their other rows are those of the backup. */
const ADDED_TO = ['aggregate_touches', 'trace_activity', 'trace_arrivals', 'trace_starts'];

async function readTraces(address: ClickHouseAddress, table: string): Promise<Set<string>> {
  const rows = await queryRows<{ TraceId: string }>(address, `SELECT DISTINCT TraceId FROM ${table}`);
  return new Set(rows.map(({ TraceId }) => TraceId));
}

/** Starts a command, and kills it as soon as something is so. */
async function killCommand(
  args: readonly string[],
  { cwd, when }: { readonly cwd: string; readonly when: () => boolean | Promise<boolean> },
): Promise<void> {
  const command = startCli(args, { cwd, stdin: '' });
  const ended = command.ended.then(({ stderr }) => {
    throw new Error(`the command ended before its kill: ${stderr}`);
  });
  await Promise.race([until(when), ended]);
  command.child.kill('SIGKILL');
  await ended.catch(() => undefined);
}

/** Restores the tables of a backup folder into another database of an engine. Returns the digest of each as a backup computes it. */
async function readBack(
  address: ClickHouseAddress,
  { folder, tables }: { readonly folder: string; readonly tables: readonly string[] },
): Promise<Manifest['tables']> {
  await runCommand(address, `CREATE DATABASE ${CHECKED} ENGINE = Atomic`);
  const database = openDatabase({ ...address, database: CHECKED });
  const digests: Manifest['tables'] = {};
  for (const table of tables) {
    const restore = `RESTORE TABLE ${address.database}.${table} AS ${CHECKED}.${table} FROM File('${folder}/${table}')`;
    await runCommand(address, `${restore} SETTINGS structure_only = 1`);
    await runCommand(address, `SYSTEM STOP MERGES ${CHECKED}.${table}`);
    await runCommand(address, `${restore} SETTINGS create_table = 0`);
    digests[table] = { ...(await readDigest(database, table)) };
  }
  await database.close();
  return digests;
}

describe('a backup of a serve under load that is killed afterwards', () => {
  const rules = [{ name: 'all', scorers: SCORERS }];
  const folder = new ServeFolder({ rules });
  const copy = join(emptyFolder(), 'copy');
  const restored = new ServeFolder({ rules });
  const acknowledged: string[] = [];
  let sentBefore: readonly string[];
  let after: ServeAddresses;
  let manifest: Manifest;
  let reopened: number;
  const killedBackups: { readonly hasFolder: boolean; readonly unfinished: readonly string[] }[] = [];
  let leftovers: readonly unknown[];
  const startsAfterKills: unknown[] = [];

  const backups = () => readdirSync(join(folder.dataDir, 'backups'));
  const listUnfinished = () => backups().filter((name) => name.startsWith('unfinished-'));
  /** Returns true while a backup copies tables. */
  const isCopying = () =>
    existsSync(join(folder.dataDir, 'backups')) &&
    listUnfinished().some((name) => readdirSync(join(folder.dataDir, 'backups', name)).length > 5);
  /** Returns true while a restore runs that has filled a table. */
  async function hasRestored(table: string): Promise<boolean> {
    const engine = await readEngineFile(restored.dataDir);
    const sql = `SELECT 1 FROM system.parts WHERE database = 'spanscore' AND table = '${table}' AND active LIMIT 1`;
    return (
      engine !== undefined &&
      (await queryRows({ ...engine, database: 'default' }, sql).catch(() => [])).length > 0
    );
  }

  async function sendUntil(signal: AbortSignal, otlpHttp: string): Promise<void> {
    while (!signal.aborted) {
      const trace = anAgentTrace();
      if ((await sendTraces(otlpHttp, trace.request())) === 200) {
        acknowledged.push(trace.traceId);
      }
    }
  }

  beforeAll(async () => {
    const { otlpHttp, clickhouse } = await folder.start();
    const sending = new AbortController();
    const senders = [1, 2].map(() => sendUntil(sending.signal, otlpHttp));
    await until(async () => (await readTraces(clickhouse, 'scores')).size > 20);
    sentBefore = [...acknowledged];
    const backup = ['backup', '--to', copy, '--config', folder.configFile];
    const isReadingBack = async () =>
      (await queryRows(clickhouse, "SELECT 1 FROM system.tables WHERE database = 'spanscore_backup_check'"))
        .length > 0;
    for (const when of [isCopying, isReadingBack]) {
      await killCommand(backup, { cwd: folder.path, when });
      killedBackups.push({ hasFolder: existsSync(copy), unfinished: listUnfinished() });
    }
    requireDone(await runCli(backup, { cwd: folder.path }));
    manifest = await readManifest(copy);
    leftovers = [
      ...backups(),
      ...(await queryRows(clickhouse, "SELECT name FROM system.databases WHERE name LIKE '%backup%'")),
    ];
    await folder.killGroup();
    sending.abort();
    await Promise.all(senders);
    const restore = ['restore', '--from', copy, '--config', restored.configFile, '--json'];
    // Among the first tables, and the last one with rows.
    for (const table of ['decisions', 'otel_traces']) {
      await killCommand(restore, { cwd: restored.path, when: () => hasRestored(table) });
      startsAfterKills.push(await restored.start().catch((error: unknown) => String(error)));
    }
    const done = await runCli(restore, { cwd: restored.path });
    requireDone(done);
    ({ reopened } = JSON.parse(done.stdout) as { reopened: number });
  });
  afterAll(async () => {
    await restored.dispose();
    await folder.dispose();
  });

  it('leaves no folder that looks like a backup when it is killed, and the next one removes the rest', () => {
    expect(killedBackups).toEqual([
      { hasFolder: false, unfinished: [expect.any(String)] },
      { hasFolder: false, unfinished: [expect.any(String)] },
    ]);
    expect(killedBackups[0]?.unfinished).not.toEqual(killedBackups[1]?.unfinished);
    expect(leftovers).toEqual(['backup.lock']);
  });

  it('is served only when a restore of it has ended', () => {
    const refusal = expect.stringContaining('spanscore restore has not finished with it');
    expect(startsAfterKills).toEqual([refusal, refusal]);
  });

  it('restores every table with the checksum of its copy', async () => {
    const tables = Object.keys(manifest.tables);
    await withStore(restored.dataDir, async (_, address) => {
      const link = join(restored.dataDir, 'backups', 'checked');
      symlinkSync(copy, link);
      expect(await readBack(address, { folder: 'checked', tables })).toEqual(manifest.tables);
      unlinkSync(link);

      const [copied, filled] = await Promise.all([
        digestTables({ ...address, database: CHECKED }),
        digestTables(address),
      ]);
      const isAsCopied = (table: string) => ![...ADDED_TO, 'decisions'].includes(table);
      const pick = (digests: typeof copied) =>
        Object.fromEntries(tables.filter(isAsCopied).map((table) => [table, digests[table]]));
      expect(pick(filled)).toEqual(pick(copied));
      expect(copied).toHaveProperty('scores');
      const countMissing = async (table: string, row: string) =>
        (
          await queryRows<{ n: string }>(
            address,
            `SELECT count() AS n FROM ${CHECKED}.${table} WHERE ${row} NOT IN (SELECT ${row} FROM ${address.database}.${table})`,
          )
        )[0]?.n;
      for (const table of ADDED_TO) {
        const row = table === 'aggregate_touches' ? 'Bucket' : 'TraceId';
        expect([table, await countMissing(table, row)]).toEqual([table, '0']);
      }
      expect(await countMissing('decisions FINAL', 'cityHash64(tuple(*))')).toBe(String(reopened));
      await runCommand(address, `DROP DATABASE ${CHECKED} SYNC`);
    });
  });

  it('restores every span that was acknowledged before, and a score for every decision that says so', async () => {
    const list = await runCli(['scores', '--limit', '1', '--json', '--config', restored.configFile], {
      cwd: restored.path,
    });
    requireDone(list);
    after = await restored.start();
    const traces = await readTraces(after.clickhouse, 'trace_activity');
    expect(sentBefore.filter((id) => !traces.has(id))).toEqual([]);
    expect(await queryRows(after.clickhouse, WITHOUT_SCORE)).toEqual([]);
  });

  it('goes on where it was: every restored trace is scored by every scorer', async () => {
    const traces = await readTraces(after.clickhouse, 'trace_activity');
    expect(traces.size).toBeGreaterThan(20);
    const countScores = async () =>
      Number(
        (
          await queryRows<{ n: string }>(
            after.clickhouse,
            'SELECT uniqExact(TraceId, Scorer) AS n FROM scores FINAL',
          )
        )[0]?.n,
      );
    await expect.poll(countScores, { timeout: 60_000 }).toBe(traces.size * SCORERS.length);
    const [twice] = await queryRows<{ n: string }>(
      after.clickhouse,
      'SELECT count() - uniqExact(TraceId, Scorer) AS n FROM scores FINAL',
    );
    expect(twice?.n).toBe('0');
  });
});
