import type { ClickHouseSettings } from '@clickhouse/client';
import { listPlaced, placementOf } from './placements.ts';

/** Longest time for which an insert waits for a majority, and a change of tables for all servers, milliseconds. */
const WAIT_MS = 30_000;

/** Wait for a replica that is away, seconds: shorter, so that the error says so. */
const INACTIVE_WAIT_S = 20;

/** Delay from which a server of a shard is passed over, seconds. A server that takes all inserts of its shard has none. */
const MOST_BEHIND_S = 10;

/** Name of the setting for the wait of a change of tables, which the error of ClickHouse about that wait names, too. */
export const DDL_WAIT = 'distributed_ddl_task_timeout';

/** Settings of every statement on a cluster. */
const OF_CLUSTER: ClickHouseSettings = {
  // A subquery runs once and its result goes to all shards: right for any key, also for one that is not that of the shards.
  distributed_product_mode: 'global',
  // A read that names its traces asks their shards only.
  optimize_skip_unused_shards: 1,
  // All processes read and write a shard at its first server that answers, so each read sees the writes before it. The next one is
  // asked neither when the first is slow, nor because it once did not answer.
  load_balancing: 'in_order',
  prefer_localhost_replica: 0,
  use_hedged_requests: 0,
  distributed_replica_max_ignored_errors: '1000',
  // A server that was away is passed over until it has fetched what others wrote meanwhile.
  max_replica_delay_for_distributed_queries: String(MOST_BEHIND_S),
  // An insert is done when the shards have its rows, not when the server that was asked has them.
  distributed_foreground_insert: 1,
  // The shards would keep the rows that they select, although these belong to others.
  parallel_distributed_insert_select: '0',
  [DDL_WAIT]: String(WAIT_MS / 1_000),
  // A change of columns is done when all replicas have it: the next statement may run on any of them.
  alter_sync: '2',
  replication_wait_for_inactive_replica_timeout: String(INACTIVE_WAIT_S),
  // Rows that one server has deleted are gone for reads of state: the others are not waited for.
  lightweight_deletes_sync: '1',
};

/** Settings of an insert into state: done when a majority of the servers has it, and one after the other. */
const WRITES_STATE: ClickHouseSettings = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  insert_quorum_timeout: WAIT_MS,
};

/** Settings of a read of state: a server that lacks a row of a majority refuses, instead of an old answer. */
const READS_STATE: ClickHouseSettings = { select_sequential_consistency: '1' };

const NAMES_STATE = new RegExp(`\\b(?:${listPlaced('state').join('|')})\\b`, 'u');

/** Returns true when a statement names a table of state. */
export function readsState(sql: string): boolean {
  return NAMES_STATE.test(sql);
}

/** Returns the settings of a statement, by the tables that it names. */
export function clusterSettings(sql: string): ClickHouseSettings {
  const target = /^\s*INSERT INTO (\w+)/u.exec(sql)?.[1];
  return {
    ...OF_CLUSTER,
    ...(readsState(sql) ? READS_STATE : {}),
    ...(target !== undefined && placementOf(target) === 'state' ? WRITES_STATE : {}),
  };
}
