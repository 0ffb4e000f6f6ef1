/** Name of the cluster of tests. */
export const TWO_SHARDS = 'two_shards';
