/** Name of the cluster of tests. */
export const TWO_SHARDS = 'two_shards';

/** Name of the same cluster with one more server, which does not answer. */
export const ONE_AWAY = 'one_away';

/** Database in which the second server lacks the table `jobs`, whatever is created. */
export const LACKING = 'lacks_jobs';
