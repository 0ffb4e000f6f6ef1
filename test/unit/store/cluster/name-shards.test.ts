import { describe, expect, it } from 'vitest';
import { nameShards } from '../../../../src/store/cluster/name-shards.ts';
import { IN_KEYS, keyParams } from '../../../../src/store/spans/trace-keys.ts';

const keys = (...traceIds: string[]) =>
  keyParams(traceIds.flatMap((traceId) => ['a', 'b'].map((tenant) => ({ tenant, traceId }))));

describe('a read of traces by their keys', () => {
  it('names the trace ids, once each, so that other shards are left out', () => {
    const named = nameShards(`SELECT 1 FROM runs WHERE ${IN_KEYS} AND 1`, { ...keys('t1', 't2'), limit: 3 });

    expect(named.sql).toBe(
      `SELECT 1 FROM runs WHERE ${IN_KEYS} AND TraceId IN {keyTraces:Array(String)} AND 1`,
    );
    expect(named.params).toMatchObject({ limit: 3, keyTraces: ['t1', 't2'] });
  });

  it('stays as it is for a large batch, which asks all shards in any case', () => {
    const sql = `SELECT 1 FROM runs WHERE ${IN_KEYS}`;
    const params = keys(...Array.from({ length: 51 }, (_, index) => `t${index}`));

    expect(nameShards(sql, params)).toEqual({ sql, params });
  });

  it('stays as it is without keys', () => {
    expect(nameShards('SELECT 1')).toEqual({ sql: 'SELECT 1', params: {} });
  });
});
