import { describe, expect, it } from 'vitest';
import { checkServers } from '../../../../src/cli/checks/cluster-servers.ts';
import type { ClusterStatus } from '../../../../src/store/contracts/cluster-status.ts';

function aStatus(fields: Partial<ClusterStatus> = {}): ClusterStatus {
  return { shards: 2, servers: 4, answering: 4, gaps: [], repairs: [], fault: undefined, ...fields };
}

describe('doctor looks at the servers of a cluster, which', () => {
  it('are well when each answers and has all tables', () => {
    expect(checkServers(aStatus())).toEqual({
      check: 'servers of the cluster',
      status: 'ok',
      detail: '4 servers in 2 shards, each has all tables',
    });
  });

  it('get a warning when one does not answer', () => {
    expect(checkServers(aStatus({ shards: 1, servers: 3, answering: 2 }))).toMatchObject({
      status: 'warning',
      detail: '3 servers in 1 shard, 1 of them did not answer',
      fix: expect.stringContaining('start them, or replace them'),
    });
  });

  it('are named when they lack tables, with the reason that keeps them from being created', () => {
    const gaps = [{ server: 'ch-4:9000', tables: ['decisions_local', 'runs_local', 'jobs', 'spend'] }];

    expect(checkServers(aStatus({ gaps }))).toMatchObject({
      status: 'failed',
      detail: '4 servers in 2 shards; ch-4:9000 lacks 4 tables (decisions_local, runs_local, jobs, …)',
      fix: 'run spanscore migrate: it creates them',
    });
    expect(checkServers(aStatus({ gaps, fault: 'it comes first' }))).toMatchObject({ fix: 'it comes first' });
  });
});
