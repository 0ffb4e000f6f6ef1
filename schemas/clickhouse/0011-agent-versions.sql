-- Versions of agents beside those of services, and series of scores by more than agent and environment. What was written
-- before has '' for the version, and is no further split.

ALTER TABLE scores
    ADD COLUMN IF NOT EXISTS `AgentVersion` LowCardinality(String);

ALTER TABLE score_arrivals
    ADD COLUMN IF NOT EXISTS `AgentVersion` LowCardinality(String);

ALTER TABLE score_arrivals_of_scores MODIFY QUERY
SELECT
    WrittenAt, ScoreId, Tenant, TraceId, Scorer, Fingerprint, Agent, AgentVersion, Environment, ServiceName, ServiceVersion,
    Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision,
    toUnixTimestamp64Milli(toDateTime64(ScoredAt, 3, 'UTC')) - toUnixTimestamp64Milli(EvidenceUntil) AS DelayMs
FROM scores
WHERE IsDeleted = 0;

ALTER TABLE deploy_markers
    ADD COLUMN IF NOT EXISTS `AgentVersion` String,
    MODIFY ORDER BY (Tenant, ServiceName, Agent, ServiceVersion, Origin, AgentVersion);

ALTER TABLE deploy_markers_of_scores MODIFY QUERY
SELECT
    Tenant, ServiceName, Agent, ServiceVersion, AgentVersion, 'seen' AS Origin, min(scores.WrittenAt) AS FirstSeen
FROM scores
WHERE Source = 'live' AND (ServiceVersion != '' OR AgentVersion != '') AND IsDeleted = 0
GROUP BY Tenant, ServiceName, Agent, ServiceVersion, AgentVersion;

-- What a series is split by beyond the columns before it, and the values: facet, value, facet, value; [] for all scores of
-- an agent in an environment. A bucket of theirs is stored for each split that a rule asks for.
ALTER TABLE monitor_buckets
    ADD COLUMN IF NOT EXISTS `Split` Array(String),
    MODIFY ORDER BY (IntervalMs, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment, Split);

ALTER TABLE monitor_checkpoints
    ADD COLUMN IF NOT EXISTS `Split` Array(String),
    MODIFY ORDER BY (RuleKey, Bucket, Tenant, Scorer, Fingerprint, Agent, Environment, Split);

ALTER TABLE monitor_status
    ADD COLUMN IF NOT EXISTS `Split` Array(String),
    MODIFY ORDER BY (RuleKey, Tenant, Scorer, Fingerprint, Agent, Environment, Split);
