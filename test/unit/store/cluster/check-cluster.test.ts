import { describe, expect, it } from 'vitest';
import { findClusterFault, findKindFault } from '../../../../src/store/cluster/check-cluster.ts';
import type { AnsweringServer, DefinedServer } from '../../../../src/store/cluster/cluster-servers.ts';

let ports = 9_000;

function aServer(shard: number, fields: Partial<DefinedServer> = {}): DefinedServer {
  ports += 1;
  return { cluster: 'main', shard, weight: 1, address: `ch:${ports}`, internalReplication: 1, ...fields };
}

const macros = (...names: string[]): Pick<AnsweringServer, 'shard' | 'replica'>[] =>
  names.map((name) => {
    const [shard = '', replica = ''] = name.split('/');
    return { shard, replica };
  });

const SERVERS = [aServer(1), aServer(1), aServer(2), aServer(2)];

describe('a cluster', () => {
  it('is right when the macros of its servers name their shard and replica', () => {
    expect(findClusterFault('main', SERVERS, macros('a/1', 'a/2', 'b/1', 'b/2'))).toBeUndefined();
    expect(findClusterFault('main', SERVERS, macros('a/1', 'a/2', 'b/3', 'b/4'))).toBeUndefined();
  });

  it('has to be known to the server', () => {
    expect(findClusterFault('mian', SERVERS, [])).toContain('knows no cluster "mian"; it knows main');
    expect(findClusterFault('main', [], [])).toContain('it knows none');
  });

  it('has to leave the replication to the tables', () => {
    const servers = [aServer(1), aServer(2, { internalReplication: 0 })];
    expect(findClusterFault('main', servers, macros('a/1', 'b/1'))).toContain('internal_replication');
  });

  it.each([
    ['of which one has none', macros('a/1', 'a/2', 'b/1', '/')],
    ['of which one has half', macros('a/1', 'a/2', 'b/1', 'b/')],
    ['of which two are the same', macros('a/1', 'a/1', 'b/1', 'b/2')],
  ])('needs a pair of macros for each server, %s', (_, found) => {
    expect(findClusterFault('main', SERVERS, found)).toContain('has 4 servers, but only 3 different pairs');
  });

  it('has no fault because a server does not answer, but for those of the others', () => {
    expect(findClusterFault('main', SERVERS, macros('a/1', 'b/1', 'b/2'))).toBeUndefined();
    expect(findClusterFault('main', SERVERS, macros('a/1', 'a/2'))).toBeUndefined();
    expect(findClusterFault('main', SERVERS, macros('a/1', 'a/1', 'b/1'))).toContain(
      'has 4 servers (1 of its servers did not answer), but only 2 different pairs',
    );
    expect(findClusterFault('main', SERVERS, macros('a/1', 'b/1', 'c/1'))).toContain(
      'but 3 different macros',
    );
  });

  it('does not name a server twice', () => {
    const twice = [aServer(1, { address: 'ch:1' }), aServer(2, { address: 'ch:1' })];
    expect(findClusterFault('main', twice, macros('a/1'))).toContain(
      'has 2 servers, but only 1 different pairs',
    );
  });

  it('needs as many macros of shards as it has shards', () => {
    expect(findClusterFault('main', SERVERS, macros('a/1', 'a/2', 'a/3', 'a/4'))).toContain(
      'has 2 shards, but 1 different macros',
    );
  });
});

describe('a database', () => {
  const distributed = "Distributed('main', 'quality', 'otel_traces_local', cityHash64(TraceId))";
  const single = 'MergeTree PARTITION BY toDate(ArrivedAt)';

  it('is used as it was created', () => {
    expect(findKindFault('quality', distributed, 'main')).toBeUndefined();
    expect(findKindFault('quality', single, undefined)).toBeUndefined();
  });

  it('of one server does not become one of a cluster', () => {
    expect(findKindFault('quality', single, 'main')).toMatch(
      /^store\.cluster: .*single server; set store\.database/u,
    );
  });

  it('of a cluster says which cluster', () => {
    expect(findKindFault('quality', distributed, undefined)).toContain('set store.cluster to main');
    expect(findKindFault('quality', distributed, 'other')).toContain(
      'belong to cluster "main", not to "other"',
    );
  });
});
