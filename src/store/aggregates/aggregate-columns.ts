import type { AggregateFacet } from '../../domain/aggregate-facets.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import { BIN_GROWTH, RANGE_STEPS } from '../../domain/limits.ts';

/** Column of each facet, in the tables of aggregates and in `scores`. */
export const FACET_COLUMNS: Readonly<Record<AggregateFacet, string>> = {
  agent: 'Agent',
  service: 'ServiceName',
  environment: 'Environment',
  model: 'Model',
  serviceVersion: 'ServiceVersion',
  agentVersion: 'AgentVersion',
  target: 'Target',
  fingerprint: 'Fingerprint',
};

/** Columns that identify a row of the aggregates. */
export const KEY_COLUMNS = `Tenant, Scorer, Bucket, Source, Stratum, ${Object.values(FACET_COLUMNS).join(', ')},
  ScoreMin, ScoreMax, Direction, IsWeighted`;

/** Columns with numbers, in the order of the rows that are inserted. */
export const SUM_COLUMNS = 'Scores, Weight, SquaredWeight, Total, SquaredTotal, Bins, BinScores, BinWeights';

/** Settings of reads with FINAL. Partitions are months of buckets, so rows of one key are in one of them. */
export const READ_SETTINGS = 'SETTINGS do_not_merge_across_partitions_select_final = 1';

/** Returns SQL for the start of the hour of a time. */
export function hourOf(time: string): string {
  return `fromUnixTimestamp64Milli(toInt64(floor(toUnixTimestamp64Milli(${time}) / ${HOUR_MS})) * ${HOUR_MS}, 'UTC')`;
}

/** Bin of the value 1 of a scorer without a range. Its bins of smaller values are above 0. */
const ONE_BIN = 40_000;

/** SQL for the bin of a row of `scores`, from the columns `Low` and `High` of its range (equal: no range). */
export const BIN = `toInt32(if(High > Low,
  floor(least(1, greatest(0, (Score - Low) / (High - Low))) * ${RANGE_STEPS} + 0.5),
  if(abs(Score) < 1e-300, 0, sign(Score) * (round(log(abs(Score)) / log(${BIN_GROWTH})) + ${ONE_BIN}))))`;

const HAS_RANGE = 'ScoreMax > ScoreMin';
const RANGED = (bin: string) => `ScoreMin + (ScoreMax - ScoreMin) * ${bin} / ${RANGE_STEPS}`;
const RANGELESS = (bin: string) =>
  `if(${bin} = 0, 0, sign(${bin}) * pow(${BIN_GROWTH}, abs(${bin}) - ${ONE_BIN}))`;

/** Returns SQL for the value in the middle of a bin, in a row of the aggregates. */
export function valueOf(bin: string): string {
  return `toFloat64(if(${HAS_RANGE}, ${RANGED(bin)}, ${RANGELESS(bin)}))`;
}

/** SQL for the values of the bins of a row. The choice is made once a row: powers are not computed for each bin of a range. */
export const BIN_VALUES = `if(${HAS_RANGE}, arrayMap(bin -> ${RANGED('bin')}, Bins),
  arrayMap(bin -> toFloat64(${RANGELESS('bin')}), Bins))`;
