import { describe, expect, it } from 'vitest';
import { findAddedShard, findShardFault, type Shard } from '../../../../src/store/cluster/cluster-shards.ts';

const CLUSTER = { name: 'main', database: 'quality' };

const shards = (...names: string[]): Shard[] => names.map((name) => ({ name, weight: 1 }));

describe('the shards of a cluster', () => {
  it('are those of the stored rows', () => {
    expect(findShardFault(CLUSTER, shards('a', 'b'), shards('a', 'b'))).toBeUndefined();
  });

  it.each([
    ['more of them', shards('a', 'b', 'c'), 'a, b, c (3)'],
    ['fewer of them', shards('a'), 'a (1)'],
    ['another order', shards('b', 'a'), 'b, a (2)'],
    ['other names', shards('a', 'c'), 'a, c (2)'],
    ['another weight', [{ name: 'a', weight: 3 }, ...shards('b')], 'a (weight 3), b (2)'],
  ])('are refused for %s, with what is lost and the way out', (_, defined, text) => {
    const fault = findShardFault(CLUSTER, shards('a', 'b'), defined);

    expect(fault).toContain(
      `store.cluster: cluster "main" has the shards ${text}, but the rows of database "quality" are distributed over a, b (2).`,
    );
    expect(fault).toContain('judged and paid again');
    expect(fault).toContain('Give the cluster its former shards again');
    expect(fault).toContain('store.database to a new name');
  });

  it('are all those of the tables, where none were recorded', () => {
    const aServer = (shard: string, ...tables: string[]) => ({ shard, tables: new Set(tables) });
    const found = (...servers: ReturnType<typeof aServer>[]) =>
      findAddedShard(CLUSTER, shards('a', 'b'), servers);

    expect(found(aServer('a', 'otel_traces_local'), aServer('b'), aServer('b', 'otel_traces_local'))).toBe(
      undefined,
    );
    expect(found(aServer('a', 'otel_traces_local'), aServer('b', 'jobs'))).toMatch(
      /^store\.cluster: no server of shard b of cluster "main" has the table quality\.otel_traces_local, .*judged and paid again/u,
    );
  });
});
