import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { addItems } from '../../../src/store/purge/purge-store.ts';
import {
  findTableFault,
  renderReplicated,
  replicatedSettings,
  requireReplicated,
  sendToReplicas,
} from '../../../src/store/replicated.ts';
import { readSchema } from '../../../src/store/schema/schema.ts';

const STATEMENTS = readSchema().statements;

const isByMajority = (table: string) =>
  'insert_quorum' in replicatedSettings(`INSERT INTO ${table} (A) SELECT 1`);

describe('a statement of the schema for replicated tables', () => {
  it.each([
    [
      'a window of deduplication',
      'ENGINE = ReplacingMergeTree(Version)\nORDER BY A\nSETTINGS index_granularity = 1, non_replicated_deduplication_window = 1000',
      'ENGINE = ReplicatedReplacingMergeTree(Version)\nORDER BY A\nSETTINGS index_granularity = 1, replicated_deduplication_window = 1000, replicated_deduplication_window_seconds = 315360000',
    ],
    [
      'settings',
      'ENGINE = MergeTree\nORDER BY A\nSETTINGS index_granularity = 1',
      'ENGINE = ReplicatedMergeTree\nORDER BY A\nSETTINGS index_granularity = 1, replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 315360000',
    ],
    [
      'no settings',
      'ENGINE = MergeTree\nORDER BY A',
      'ENGINE = ReplicatedMergeTree\nORDER BY A\nSETTINGS replicated_deduplication_window = 0, replicated_deduplication_window_seconds = 315360000',
    ],
  ])('has a replicated engine that drops repeated inserts as one server does: %s', (_, engine, expected) => {
    const create = 'CREATE TABLE IF NOT EXISTS t\n(\n    `A` String\n)\n';

    expect(renderReplicated(create + engine)).toBe(create + expected);
  });

  it('stays as it is when it creates no table', () => {
    for (const statement of STATEMENTS.filter((each) => !each.startsWith('CREATE TABLE'))) {
      expect(renderReplicated(statement)).toBe(statement);
    }
  });
});

describe('a statement on replicated tables', () => {
  it.each(['otel_traces', 'otel_logs', 'trace_arrivals'])(
    'waits for one replica when it inserts spans: %s',
    (table) => expect(isByMajority(table)).toBe(false),
  );

  it.each(['decisions', 'scores', 'runs', 'spend', 'jobs', 'members'])(
    'waits for a majority when it inserts what decides: %s',
    (table) => {
      expect(replicatedSettings(`\n  INSERT INTO ${table}`)).toMatchObject({
        insert_quorum: 'auto',
        insert_quorum_parallel: 0,
        select_sequential_consistency: '1',
      });
    },
  );

  it('has views wait as their source does: a sequential read overlooks rows that were inserted without a majority', () => {
    const views = STATEMENTS.flatMap((statement) => {
      const [, target, source] =
        /^CREATE MATERIALIZED VIEW IF NOT EXISTS \w+ TO (\w+) AS\s.*?\nFROM (\w+)/su.exec(statement) ?? [];
      return target === undefined || source === undefined ? [] : [{ target, source }];
    });

    expect(views.length).toBeGreaterThan(5);
    expect(views.filter(({ target, source }) => isByMajority(target) !== isByMajority(source))).toEqual([]);
  });

  const refusal = (code: string) => new ClickHouseError({ message: 'refused', code, type: 'REFUSED' });

  /** Sends a statement that fails with each error once. Returns the number of tries. */
  async function countTries(errors: readonly Error[]): Promise<number> {
    const waiting = [...errors];
    let tries = 0;
    await sendToReplicas('SELECT 1', async () => {
      tries += 1;
      const error = waiting.shift();
      if (error !== undefined) {
        throw error;
      }
    });
    return tries;
  }

  it('is repeated while another insert waits for its majority, or the replica lacks a row', async () => {
    expect(await countTries([refusal('286'), refusal('289')])).toBe(3);
  });

  it.each([refusal('319'), refusal('285'), new Error('socket hang up')])(
    'is not repeated when it may have run, or cannot: %s',
    async (error) => {
      await expect(countTries([error])).rejects.toBe(error);
    },
  );

  it('waits for every replica when it inserts the items of a purge, which each replica reads itself', async () => {
    const statements: string[] = [];
    const insert = (isReplicated: boolean) =>
      addItems(
        {
          isReplicated,
          rows: async <Row>() => [{ replicas: 3 }] as Row[],
          insertSelected: async (statement) => void statements.push(statement),
        },
        [['trace', 'SELECT Tenant, TraceId AS Id FROM runs']],
        { jobId: 'j' },
      );
    await insert(true);
    await insert(false);

    expect(statements[0]).toContain('Id) SETTINGS insert_quorum = 3\n');
    expect(statements[1]).not.toContain('SETTINGS');
  });
});

describe('a database', () => {
  it.each([
    ['MergeTree', true, 'are not replicated (MergeTree); set store.database to a new name'],
    ['ReplicatedMergeTree', false, 'store.replicated is missing'],
    ['ReplicatedMergeTree', true, undefined],
    ['MergeTree', false, undefined],
    ['SharedMergeTree', false, undefined],
    ['SharedMergeTree', true, undefined],
  ])('with tables of %s is compared with store.replicated: %s', (engine, isReplicated, fault) => {
    const found = findTableFault('quality', engine, isReplicated);

    expect(found ?? '').toContain(fault ?? '');
    expect(found === undefined).toBe(fault === undefined);
  });

  it.each([
    [[], 'does not exist'],
    [[{ engine: 'Atomic' }], 'has the engine Atomic, which creates tables on one server only'],
  ])(
    'that creates no table on each replica is refused with the statement that does: %j',
    async (rows, fault) => {
      const outside = { rows: async <Row>() => rows as Row[], command: async () => undefined };

      await expect(requireReplicated({ name: 'quality', outside })).rejects.toThrow(
        `store.replicated: database "quality" ${fault}; create it on every replica: CREATE DATABASE quality ON CLUSTER <cluster> ENGINE = Replicated('/clickhouse/databases/quality', '{shard}', '{replica}')`,
      );
    },
  );
});
