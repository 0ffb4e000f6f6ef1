import { readSpanIds } from '../durability/stored-requests.ts';
import { type ClickHouseAddress, queryRows } from '../store/clickhouse-query.ts';
import type { FleetRecord, RecordedDecision, RecordedScore } from './fleet-record.ts';

type StoredFacts = Pick<
  FleetRecord,
  'stored' | 'arrivals' | 'ruleVersions' | 'decisions' | 'scores' | 'storeNowMs'
>;

const DECISIONS = `
  SELECT TraceId AS traceId, TargetId AS targetId, Rule AS rule, Scorer AS scorer, Fingerprint AS fingerprint,
    Status AS status, Reason AS reason, EvidenceHash AS evidenceHash,
    toUnixTimestamp64Milli(EvidenceUntil) AS evidenceUntilMs, toUnixTimestamp64Milli(NextAttemptAt) AS nextAttemptMs
  FROM decisions FINAL ORDER BY traceId, rule, scorer`;

/** Two processes may write one score id under two days: the newer evidence counts. */
const SCORES = `
  SELECT * FROM (
    SELECT ScoreId AS scoreId, Revision AS revision, TraceId AS traceId, TargetId AS targetId, Scorer AS scorer,
      Fingerprint AS fingerprint, EvidenceHash AS evidenceHash, Source AS source, Score AS value, IsDeleted AS isDeleted
    FROM scores FINAL ORDER BY Version DESC LIMIT 1 BY ScoreId)
  WHERE isDeleted = 0 ORDER BY traceId, scorer`;

const RULE_VERSIONS = `
  SELECT Rule AS rule, JSONExtract(any(Definition), 'scorers', 'Array(String)') AS scorers,
    toUnixTimestamp64Milli(min(ActiveFrom)) AS activeFromMs
  FROM rule_versions GROUP BY Rule, Version ORDER BY activeFromMs`;

const ARRIVALS = `
  SELECT TraceId AS traceId, toUnixTimestamp64Milli(min(FirstArrival)) AS firstMs,
    toUnixTimestamp64Milli(max(LastArrival)) AS lastMs
  FROM trace_activity GROUP BY TraceId`;

/** Reads the facts that are in the store, by SQL. Spans are read as scoring reads them. */
export async function readStoredFacts(
  store: ClickHouseAddress,
  traceIds: readonly string[],
): Promise<StoredFacts> {
  const [now] = await queryRows<{ nowMs: string }>(store, 'SELECT toUnixTimestamp64Milli(now64(3)) AS nowMs');
  const decisions = await queryRows<Quoted<RecordedDecision>>(store, DECISIONS);
  const scores = await queryRows<RecordedScore>(store, SCORES);
  const versions = await queryRows<Quoted<FleetRecord['ruleVersions'][number]>>(store, RULE_VERSIONS);
  const arrivals = await queryRows<{ traceId: string; firstMs: string; lastMs: string }>(store, ARRIVALS);
  return {
    stored: await readSpanIds(store, traceIds),
    arrivals: new Map(
      arrivals.map(({ traceId, firstMs, lastMs }) => [
        traceId,
        { firstMs: Number(firstMs), lastMs: Number(lastMs) },
      ]),
    ),
    ruleVersions: versions.map((row) => ({ ...row, activeFromMs: Number(row.activeFromMs) })),
    decisions: decisions.map((row) => ({
      ...row,
      evidenceUntilMs: Number(row.evidenceUntilMs),
      nextAttemptMs: row.nextAttemptMs === null ? null : Number(row.nextAttemptMs),
    })),
    scores,
    storeNowMs: Number(now?.nowMs),
  };
}

/** A row as JSON: its times in milliseconds are 64-bit integers, which come as text. */
type Quoted<Row> = {
  [Key in keyof Row]: Key extends `${string}Ms` ? string | Extract<Row[Key], null> : Row[Key];
};
