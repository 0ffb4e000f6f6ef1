import { describe, expect, it } from 'vitest';
import { StoreRejectedError, StoreUnavailableError } from '../../../../src/domain/errors.ts';
import type { AnsweringServer } from '../../../../src/store/cluster/cluster-servers.ts';
import {
  buildCopy,
  fillServers,
  findFillFault,
  findGaps,
  listObjects,
} from '../../../../src/store/cluster/fill-servers.ts';
import { listPlaced, localTable } from '../../../../src/store/cluster/placements.ts';
import { readSchema } from '../../../../src/store/schema/schema-file.ts';

const CLUSTER = { name: 'main', database: 'quality' };

const STATEMENTS = readSchema().statements;

const OBJECTS = listObjects(CLUSTER, STATEMENTS);

const ALL = OBJECTS.map(({ name }) => name);

function aServer(name: string, tables: readonly string[] = ALL): AnsweringServer {
  const [shard = '', replica = ''] = name.split('/');
  return { server: `ch-${name}`, shard, replica, tables: new Set(tables) };
}

const first = (...names: string[]) =>
  names.map((name, index) => ({ shard: index + 1, server: `ch-${name}`, name: name.slice(0, 1) }));

const noGaps = async () => [];

describe('the tables of a server of a cluster', () => {
  it('are those of the schema: first those with rows, then the distributed ones, then the views', () => {
    const kinds = OBJECTS.map(({ kind }) => kind);

    expect([...new Set(kinds)]).toEqual(['rows', 'distributed', 'view']);
    expect(kinds).toEqual(kinds.toSorted((a, b) => 'rdv'.indexOf(a[0] ?? '') - 'rdv'.indexOf(b[0] ?? '')));
    expect(new Set(ALL).size).toBe(ALL.length);
    for (const table of listPlaced('sharded')) {
      expect(OBJECTS).toContainEqual({ name: table, kind: 'distributed' });
      expect(OBJECTS).toContainEqual({ name: localTable(table), kind: 'rows' });
    }
    expect(kinds.filter((kind) => kind === 'view')).toHaveLength(9);
  });

  it('are missing on a server that joined later, and those of other programs are not', () => {
    const servers = [
      aServer('a/1', [...ALL, 'notes_of_somebody']),
      aServer('a/2', []),
      aServer(
        'b/1',
        ALL.filter((name) => name !== 'jobs'),
      ),
    ];

    expect(findGaps(OBJECTS, servers)).toEqual([
      { server: 'ch-a/2', tables: ALL },
      { server: 'ch-b/1', tables: ['jobs'] },
    ]);
    expect(findGaps(OBJECTS, [aServer('a/1')])).toEqual([]);
  });

  it('are not created on a server that would then be read before it has the rows', () => {
    const servers = [aServer('a/1'), aServer('a/2', []), aServer('b/1', []), aServer('b/2')];

    expect(findFillFault(CLUSTER, servers, first('a/1', 'b/2'))).toBeUndefined();
    expect(findFillFault(CLUSTER, servers, first('a/1', 'b/1'))).toMatch(
      /^server ch-b\/1 comes first in shard b of cluster "main", but lacks tables that ch-b\/2 has: .*Write it after the other servers/u,
    );
  });

  it('are created on the only server of a shard, which lost its rows', () => {
    expect(findFillFault(CLUSTER, [aServer('a/1'), aServer('b/1', [])], first('a/1', 'b/1'))).toBeUndefined();
  });

  it('are created from what another server prints, with the macros of paths, on all servers that lack them', () => {
    expect(
      buildCopy(
        CLUSTER,
        'decisions_local',
        "CREATE TABLE quality.decisions_local (`TraceId` String) ENGINE = ReplicatedMergeTree('/x/{shard}/decisions', '{replica}') ORDER BY TraceId",
      ),
    ).toBe(
      "CREATE TABLE IF NOT EXISTS `quality`.`decisions_local` ON CLUSTER `main` (`TraceId` String) ENGINE = ReplicatedMergeTree('/x/{shard}/decisions', '{replica}') ORDER BY TraceId",
    );
    expect(
      buildCopy(
        CLUSTER,
        'v',
        'CREATE MATERIALIZED VIEW quality.v TO quality.runs_local (`A` String) AS SELECT A FROM quality.scores_local AS scores',
      ),
    ).toBe(
      'CREATE MATERIALIZED VIEW IF NOT EXISTS `quality`.`v` ON CLUSTER `main` TO quality.runs_local (`A` String) AS SELECT A FROM quality.scores_local AS scores',
    );
    expect(() => buildCopy(CLUSTER, 'v', 'ATTACH TABLE v')).toThrow('cannot be read');
  });

  /** Database in which one server does not answer to changes of tables. It records the statements with their wait. */
  function aSlowDatabase() {
    const run: [string, unknown][] = [];
    const command = async (statement: string, settings: object = {}) => {
      run.push([statement, Object.values(settings)[0]]);
      if (statement !== 'first') {
        throw new StoreUnavailableError(
          'ClickHouse answered 159 (TIMEOUT_EXCEEDED) while running (CREATE …): Distributed DDL task /clickhouse/task_queue/ddl/query-0000000001 is not finished on 1 of 4 hosts (0 of them are currently executing the task, 1 are inactive). They are going to execute the query in background. Was waiting for 30.2 seconds, which is longer than distributed_ddl_task_timeout',
        );
      }
    };
    return { run, database: { command } };
  }

  it('are all created while another server is away, which is waited for once', async () => {
    const { run, database } = aSlowDatabase();

    await fillServers(
      database,
      { repairs: ['first', 'second', 'third', 'fourth'], fault: undefined },
      noGaps,
    );

    expect(run).toEqual([
      ['first', undefined],
      ['second', undefined],
      ['third', '1'],
      ['fourth', '1'],
    ]);
  });

  it('are named when a slow server does not have them yet, with what to do', async () => {
    const { run, database } = aSlowDatabase();
    const readGaps = async () => [{ server: 'ch-a/2', tables: ['jobs', 'spend'] }];

    await expect(
      fillServers(database, { repairs: ['first', 'second', 'third'], fault: undefined }, readGaps),
    ).rejects.toThrow(
      /^tables are still missing on ch-a\/2 \(2 tables\): .*run spanscore migrate again .*not finished on 1 of 4 hosts/u,
    );
    expect(run).toHaveLength(3);
  });

  it('are created one after the other, until one fails', async () => {
    const run: string[] = [];
    const database = {
      command: async (statement: string) => {
        run.push(statement);
        if (statement === 'second') {
          throw new StoreRejectedError('ClickHouse answered 253 (REPLICA_ALREADY_EXISTS)');
        }
      },
    };

    await expect(
      fillServers(database, { repairs: ['first', 'second', 'third'], fault: undefined }, noGaps),
    ).rejects.toThrow(/REPLICA_ALREADY_EXISTS.*give the new server a macro replica that was never used/u);
    expect(run).toEqual(['first', 'second']);
    await expect(
      fillServers(database, { repairs: ['fourth'], fault: 'it comes first' }, noGaps),
    ).rejects.toThrow('it comes first');
    expect(run).toEqual(['first', 'second']);
  });
});
