-- Scores of different targets (runs, agents, model calls, sessions) are different series. Rows of before have '', which counts as
-- 'trace'.
ALTER TABLE score_arrivals
    ADD COLUMN IF NOT EXISTS `Target` LowCardinality(String);

ALTER TABLE score_arrivals_of_scores MODIFY QUERY
SELECT
    WrittenAt, ScoreId, Tenant, TraceId, Target, Scorer, Fingerprint, Agent, AgentVersion, Environment, ServiceName,
    ServiceVersion, Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision,
    toUnixTimestamp64Milli(toDateTime64(ScoredAt, 3, 'UTC')) - toUnixTimestamp64Milli(EvidenceUntil) AS DelayMs
FROM scores
WHERE IsDeleted = 0;

ALTER TABLE outcome_arrivals
    ADD COLUMN IF NOT EXISTS `Target` LowCardinality(String);

ALTER TABLE outcome_arrivals_of_decisions MODIFY QUERY
SELECT WrittenAt, Tenant, TraceId, Target, TargetId, Rule, Scorer, Fingerprint, Agent, Environment, Status
FROM decisions
WHERE Status IN ('scored', 'failed', 'deferred') AND Scorer != '*' AND Stratum = 'uniform' AND Revision <= 1
    AND NOT startsWith(Reason, 'in_progress');
