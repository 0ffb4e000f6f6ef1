import { MIB } from '../../domain/byte-sizes.ts';

/**
 * Command-line arguments of the engine: every limit that otherwise depends on the size of the machine (the defaults take 90
 * % of the memory, gigabytes of caches and dozens of background threads).
 */
export function engineArguments(memoryLimitBytes: number, configFile: string): string[] {
  const limits: Record<string, number> = {
    max_server_memory_usage: memoryLimitBytes,
    // One query must leave memory for inserts and merges.
    max_memory_usage: Math.floor(memoryLimitBytes * 0.6),
    mark_cache_size: 64 * MIB,
    index_mark_cache_size: 16 * MIB,
    primary_index_cache_size: 64 * MIB,
    query_condition_cache_size: 16 * MIB,
    uncompressed_cache_size: 0,
    compiled_expression_cache_size: 32 * MIB,
    background_pool_size: 2,
    background_merges_mutations_concurrency_ratio: 2,
    background_schedule_pool_size: 4,
    background_common_pool_size: 2,
    background_fetches_pool_size: 1,
    background_move_pool_size: 1,
    max_temporary_data_on_disk_size: 10_240 * MIB,
    // Inserts are refused (and retried by their senders) before the disk is completely full.
    min_free_disk_bytes_to_perform_insert: 256 * MIB,
    // A server does not read `1 + 1` as a query.
    implicit_select: 0,
  };
  return [
    `--config-file=${configFile}`,
    ...Object.entries(limits).map(([name, value]) => `--${name}=${value}`),
  ];
}
