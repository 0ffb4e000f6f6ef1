import { describe, expect, it } from 'vitest';
import { clusterSettings, readsState } from '../../../../src/store/cluster/cluster-settings.ts';

describe('settings of a statement on a cluster', () => {
  it('wait for the shards of an insert, and for no majority of a table of traces', () => {
    const settings = clusterSettings('INSERT INTO otel_traces (`TraceId`) FORMAT RowBinary');

    expect(settings).toMatchObject({
      distributed_foreground_insert: 1,
      parallel_distributed_insert_select: '0',
    });
    expect(settings).not.toHaveProperty('insert_quorum');
    expect(settings).not.toHaveProperty('select_sequential_consistency');
  });

  it('keep reads and inserts of a shard at its first server, whose rows no other has yet', () => {
    expect(clusterSettings('SELECT count() FROM decisions')).toMatchObject({
      load_balancing: 'in_order',
      prefer_localhost_replica: 0,
      use_hedged_requests: 0,
      distributed_replica_max_ignored_errors: '1000',
      max_replica_delay_for_distributed_queries: '10',
    });
  });

  it.each(['INSERT INTO spend', 'INSERT INTO jobs (Id) SELECT 1', '\n  INSERT INTO members'])(
    'wait for a majority of the servers that have state: %s',
    (sql) => {
      expect(clusterSettings(sql)).toMatchObject({ insert_quorum: 'auto', insert_quorum_parallel: 0 });
    },
  );

  it('let a read of state see every earlier write, also inside of a subquery', () => {
    const sql = 'SELECT * FROM scores WHERE ScoreId NOT IN (SELECT ScoreId FROM exports)';

    expect(readsState(sql)).toBe(true);
    expect(clusterSettings(sql)).toMatchObject({ select_sequential_consistency: '1' });
  });

  it.each(['SELECT count() FROM decisions', 'SELECT * FROM deploy_markers', 'INSERT INTO deploy_markers'])(
    'ask for no majority where none was waited for: %s',
    (sql) => {
      expect(clusterSettings(sql)).not.toHaveProperty('select_sequential_consistency');
      expect(clusterSettings(sql)).not.toHaveProperty('insert_quorum');
    },
  );
});
