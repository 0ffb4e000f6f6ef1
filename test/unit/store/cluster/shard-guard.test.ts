import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import type { Database } from '../../../../src/store/database.ts';
import { createShardGuard } from '../../../../src/store/cluster/shard-guard.ts';

/** Server that knows a cluster of shards, and the shards among which its rows are distributed. */
function aCluster(stored: readonly string[]) {
  let defined = stored;
  let isAway = false;
  let looks = 0;
  const answers: [part: string, rows: () => object[]][] = [
    ['system.clusters', () => defined.map((_, index) => ({ cluster: 'main', shard: index + 1, weight: 1 }))],
    ['system.tables', () => [{ name: 'cluster_shards' }]],
    ['.cluster_shards', () => [{ names: stored, weights: stored.map(() => 1) }]],
    ['system.macros', () => defined.map((name, index) => ({ shard: index + 1, server: name, name }))],
  ];
  const outside: Pick<Database, 'rows' | 'command'> = {
    rows: async <Row>(sql: string) => {
      looks += sql.includes('system.clusters') ? 1 : 0;
      if (isAway) {
        throw new StoreUnavailableError('away');
      }
      return (answers.find(([part]) => sql.includes(part))?.[1]() ?? []) as Row[];
    },
    command: () => Promise.reject(new Error('a guard changes nothing')),
  };
  let nowMs = 0;
  const guard = createShardGuard(
    { name: 'quality', cluster: { name: 'main', database: 'quality' }, outside },
    () => nowMs,
  );
  return {
    guard,
    define: (shards: readonly string[]) => {
      defined = shards;
    },
    leave: (away: boolean) => {
      isAway = away;
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    countLooks: () => looks,
  };
}

describe('the guard of the shards', () => {
  it('does not look before the shards have been compared', async () => {
    const cluster = aCluster(['a', 'b']);
    cluster.define(['a', 'b', 'c']);

    await cluster.guard.check();
    expect(cluster.countLooks()).toBe(0);
  });

  it('refuses every statement within 15 s after a shard was added, until it is removed', async () => {
    const cluster = aCluster(['a', 'b']);
    cluster.guard.start();
    await cluster.guard.check();

    cluster.define(['a', 'b', 'c']);
    await cluster.guard.check();
    cluster.pass(15_000);
    await expect(cluster.guard.check()).rejects.toThrow('has the shards a, b, c (3)');
    await expect(cluster.guard.check()).rejects.toBeInstanceOf(StoreUnavailableError);

    cluster.define(['a', 'b']);
    cluster.pass(15_000);
    await cluster.guard.check();
  });

  it('looks once for many statements, and compares only a definition that changed', async () => {
    const cluster = aCluster(['a', 'b']);
    cluster.guard.start();
    await Promise.all([cluster.guard.check(), cluster.guard.check(), cluster.guard.check()]);
    const first = cluster.countLooks();
    cluster.pass(15_000);
    await Promise.all([cluster.guard.check(), cluster.guard.check()]);

    expect(cluster.countLooks()).toBe(first + 1);
  });

  it('looks again at once after the store was away', async () => {
    const cluster = aCluster(['a', 'b']);
    cluster.guard.start();
    cluster.leave(true);
    await expect(cluster.guard.check()).rejects.toThrow('away');
    cluster.leave(false);

    await cluster.guard.check();
  });
});
