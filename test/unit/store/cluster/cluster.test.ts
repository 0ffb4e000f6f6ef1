import { describe, expect, it } from 'vitest';
import {
  alterTable,
  ofAllServers,
  ofEachShard,
  rowsTable,
  statementTable,
} from '../../../../src/store/cluster/cluster.ts';

const CLUSTER = { name: 'main', database: 'quality' };

describe('a statement about the rows of a table', () => {
  it.each([
    ['decisions', 'DELETE WHERE 1', 'ALTER TABLE decisions_local ON CLUSTER `main` DELETE WHERE 1'],
    ['jobs', 'DELETE WHERE 1', 'ALTER TABLE jobs DELETE WHERE 1'],
    ['deploy_markers', 'DELETE WHERE 1', 'ALTER TABLE deploy_markers DELETE WHERE 1'],
    ['spend', 'MODIFY SETTING a = 1', 'ALTER TABLE spend ON CLUSTER `main` MODIFY SETTING a = 1'],
    ['runs', 'MODIFY SETTING a = 1', 'ALTER TABLE runs_local ON CLUSTER `main` MODIFY SETTING a = 1'],
  ])('of a cluster reaches every server that has rows of %s: %s', (table, change, statement) => {
    expect(alterTable(CLUSTER, table, change)).toBe(statement);
  });

  it('of a single server stays as it is', () => {
    expect(alterTable(undefined, 'decisions', 'MODIFY SETTING a = 1')).toBe(
      'ALTER TABLE decisions MODIFY SETTING a = 1',
    );
    expect(rowsTable(undefined, 'decisions')).toBe('decisions');
    expect(statementTable(undefined, 'decisions_local')).toBe('decisions_local');
    expect(ofAllServers(undefined, 'system.parts')).toBe('system.parts');
    expect(ofEachShard(undefined, 'system.parts')).toBe('system.parts');
  });

  it('of a cluster asks the servers about themselves', () => {
    expect(rowsTable(CLUSTER, 'decisions')).toBe('decisions_local');
    expect(statementTable(CLUSTER, 'decisions_local')).toBe('decisions');
    expect(ofAllServers(CLUSTER, 'system.parts')).toBe("clusterAllReplicas('main', system.parts)");
    expect(ofEachShard(CLUSTER, 'system.parts')).toBe("cluster('main', system.parts)");
  });
});
