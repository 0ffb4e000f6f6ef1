import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPurgeKey } from '../../../../src/purge/purge-key.ts';
import { openStore } from '../../../../src/store/store.ts';
import { emptyFolder, requireDone, type CliResult } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { makeFolders } from '../../../support/store/backup-folders.ts';
import {
  queryRows,
  runCommand as runSql,
  type ClickHouseAddress,
} from '../../../support/store/clickhouse-query.ts';
import { TWO_SHARDS } from '../../../support/store/cluster/cluster-name.ts';
import { startTwoShards } from '../../../support/store/engine.ts';
import { digestTables, NOT_COPIED, withStore } from '../../../support/store/kept-folder.ts';
import {
  buildDecision,
  buildLog,
  buildScore,
  buildSpan,
  logBlock,
  newTraceId,
  openTestStore,
  spanBlock,
  storeFlags,
  storeOptions,
  type TestStore,
} from '../../../support/store/store-rows.ts';
import type { Store } from '../../../../src/store/contracts/store.ts';

const SECRET = 'a secret of the hashes of purged ids';
const SINCE = ['--since', '1h'];

/** Targets of every kind of damage. */
const TARGETS = {
  lost: buildDecision(),
  ofBackfill: buildDecision({ rule: 'backfill:b1' }),
  scored: buildDecision(),
  purged: newTraceId(),
  received: newTraceId(),
};

/** Tables whose copies are older than the others. */
const EARLY = ['scores', 'trace_arrivals', 'trace_activity', 'trace_starts'];

/** Writes what the early copies have. */
async function writeEarly({ scores }: Store): Promise<void> {
  await scores.write([TARGETS.scored.traceId, TARGETS.purged].map((traceId) => buildScore({ traceId })));
}

/** Writes what only the late copies have: the tombstone of a trace beside its spans, decisions and their views. */
async function writeLate({ decisions, sink, tombstones }: Store): Promise<void> {
  const { lost, ofBackfill, scored, purged, received } = TARGETS;
  await decisions.write([lost, ofBackfill, scored, buildDecision({ traceId: purged })]);
  const spans = [received, received, purged].map((traceId) => buildSpan({ traceId }));
  await sink.insert(spanBlock(spans), 'spans');
  await sink.insert(logBlock([buildLog({ traceId: received })]), 'logs');
  const key = createPurgeKey(SECRET);
  const hash = key.compute('trace', '', purged);
  await tombstones.write({ kind: 'trace', tenant: '', hash, keyId: key.keyId }, 'job');
}

const count = async (address: ClickHouseAddress, from: string) =>
  Number((await queryRows<{ n: string }>(address, `SELECT count() AS n FROM ${from}`))[0]?.n);

/** Holds a repaired store against what its rows say. */
async function expectConsistent(store: Store, address: ClickHouseAddress): Promise<void> {
  const { lost, ofBackfill, scored, purged, received } = TARGETS;
  const due = await store.decisions.due({ untilMs: await store.spans.nowMs(), shards: null, limit: 10 });
  expect(due).toMatchObject([{ traceId: lost.traceId, reason: expect.stringContaining('score_lost') }]);
  const found = await store.decisions.ofTraces([ofBackfill, scored]);
  expect(new Map([...found.values()].flat().map(({ traceId, status }) => [traceId, status]))).toEqual(
    new Map([
      [ofBackfill.traceId, 'failed'],
      [scored.traceId, 'scored'],
    ]),
  );
  for (const table of ['otel_traces', 'decisions', 'trace_arrivals', 'trace_activity', 'trace_starts']) {
    expect([table, await count(address, `${table} WHERE TraceId = '${purged}'`)]).toEqual([table, 0]);
  }
  const of = `WHERE TraceId = '${received}'`;
  expect(await count(address, `(SELECT arrayJoin(SpanIds) FROM trace_arrivals ${of})`)).toBe(2);
  const activity = await store.spans.activity([{ tenant: '', traceId: received }]);
  expect([...activity.values()]).toMatchObject([{ rootSeen: true, agentSeen: true }]);
}

describe('a store whose server has restored tables of different times', () => {
  const folders = makeFolders();
  const results: Record<string, CliResult> = {};
  let before: Awaited<ReturnType<typeof digestTables>>;
  let after: Awaited<ReturnType<typeof digestTables>>;

  beforeAll(async () => {
    await withStore(folders.original, async (store, address) => {
      const repair = (...flags: string[]) =>
        folders.run('repair', ...SINCE, '--json', ...storeFlags(address), ...flags);
      const key = ['--set', `store.purgeKey=${SECRET}`];
      const { database } = address;
      await writeEarly(store);
      await store.members.beat('a scorer', { cells: ['a cell'] });
      results['beside a scorer'] = await repair(...key);
      await store.members.beat('a scorer', { cells: ['a cell'], leaving: true });
      results['on a directory in use'] = await folders.run(
        'repair',
        ...SINCE,
        '--data-dir',
        folders.original,
      );

      const early = EARLY.map((table) => `TABLE ${database}.${table}`).join(', ');
      const all = { ...address, database: 'default' };
      await runSql(all, `BACKUP ${early} TO File('early')`);
      await writeLate(store);
      const except = EARLY.map((table) => `${database}.${table}`).join(', ');
      await runSql(all, `BACKUP DATABASE ${database} EXCEPT TABLES ${except} TO File('late')`);
      await runSql(all, `DROP DATABASE ${database} SYNC`);
      results['before the restore'] = await repair(...key);
      await runSql(all, `CREATE DATABASE ${database} ENGINE = Atomic`);
      await runSql(all, `RESTORE ${early} FROM File('early')`);
      await runSql(all, `RESTORE DATABASE ${database} FROM File('late')`);

      results['with another key'] = await repair(
        '--set',
        'store.purgeKey=the secret of another installation',
      );
      results['another command'] = await folders.run('scores', ...storeFlags(address), ...key);
      results['first'] = await repair(...key);
      await expectConsistent(store, address);
      before = await digestTables(address);
      results['second'] = await repair(...key);
      after = await digestTables(address);
    });
  });

  it('is repaired as spanscore restore does it: lost scores, missing arrivals, tombstones', () => {
    requireDone(results['first'] as CliResult);
    expect(JSON.parse(results['first']?.stdout ?? '')).toMatchObject({
      reopened: 2,
      purged: { otel_traces: 1, decisions: 1, scores: 1, trace_arrivals: 1 },
    });
  });

  it('is not changed by a second repair', () => {
    requireDone(results['second'] as CliResult);
    expect(JSON.parse(results['second']?.stdout ?? '')).toEqual({ reopened: 0, purged: {} });
    const copied = (digests: object) =>
      Object.entries(digests).filter(([table]) => !NOT_COPIED.includes(table));
    expect(copied(after)).toEqual(copied(before));
  });

  it('is refused to every other command after an interruption, until the repair was run again', () => {
    expect(results['with another key']).toMatchObject({ code: 78 });
    expect(results['with another key']?.stderr).toContain('tombstones of purged traces with another key');
    expect(results['another command']).toMatchObject({ code: 1 });
    expect(results['another command']?.stderr).toContain('spanscore repair has not finished with it');
  });

  it('is not repaired while a process uses it, nor before it was restored', () => {
    expect(results['beside a scorer']).toMatchObject({ code: 1 });
    expect(results['beside a scorer']?.stderr).toContain(
      '1 process of spanscore used the store within the last 15 s: stop every serve on it',
    );
    expect(results['on a directory in use']).toMatchObject({ code: 1 });
    expect(results['on a directory in use']?.stderr).toContain('uses the data directory');
    expect(results['before the restore']).toMatchObject({ code: 4 });
    expect(results['before the restore']?.stderr).toContain('restore the backup of the server first');
  });
});

describe('a store on two shards whose tables were restored at different times', () => {
  let opened: TestStore;

  beforeAll(async () => {
    const engine = await startTwoShards();
    opened = await openTestStore(engine, { ...storeOptions(engine), cluster: TWO_SHARDS });
    await writeLate(opened.store);
    for (const table of EARLY) {
      await runSql(opened.options, `TRUNCATE TABLE ${table}_local`);
    }
    await writeEarly(opened.store);
  });
  afterAll(() => opened.stop());

  it('is repaired once, on all shards', async () => {
    const flags = [...storeFlags(opened.options), '--set', `store.cluster=${TWO_SHARDS}`];
    const repair = () =>
      runCommand(['repair', ...SINCE, '--json', ...flags, '--set', `store.purgeKey=${SECRET}`], {
        cwd: emptyFolder(),
      });
    const first = await repair();
    requireDone(first);
    const store = await openStore({ ...opened.options, migrate: false });
    await expectConsistent(store, opened.options);
    await store.close();
    const arrivals = await count(opened.options, 'trace_arrivals');
    const second = await repair();

    requireDone(second);
    expect(JSON.parse(first.stdout)).toMatchObject({ reopened: 2 });
    expect(JSON.parse(second.stdout)).toEqual({ reopened: 0, purged: {} });
    expect(await count(opened.options, 'trace_arrivals')).toBe(arrivals);
  });
});
