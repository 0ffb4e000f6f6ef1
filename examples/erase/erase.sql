-- Deletes all traces that hold one of {ids}: user ids, session ids or trace ids of {tenant}.

-- Collects the traces: the id is the whole value of an attribute, or stands in quotes inside of one.
CREATE OR REPLACE TABLE erased_traces ENGINE = MergeTree ORDER BY (Tenant, TraceId) AS
SELECT DISTINCT Tenant, TraceId
FROM
(
    SELECT Tenant, TraceId, arrayConcat(mapValues(SpanAttributes), mapValues(ResourceAttributes),
        arrayFlatten(arrayMap(event -> mapValues(event), `Events.Attributes`))) AS texts
    FROM otel_traces
    UNION ALL
    SELECT Tenant, TraceId, arrayConcat([Body], mapValues(LogAttributes), mapValues(ResourceAttributes)) AS texts
    FROM otel_logs
    UNION ALL
    SELECT Tenant, TraceId, [UserId, SessionId] AS texts
    FROM scores
    UNION ALL
    SELECT Tenant, TraceId, [UserId, SessionId] AS texts
    FROM runs
    UNION ALL
    SELECT Tenant, TraceId, [] AS texts
    FROM decisions
)
WHERE Tenant = {tenant:String} AND TraceId != ''
    AND (has({ids:Array(String)}, TraceId) OR hasAny(texts, {ids:Array(String)})
        OR arrayExists(text -> multiSearchAny(text, arrayFlatten(arrayMap(
            id -> [concat('"', id, '"'), concat('\'', id, '\''), concat('"', id, '\\')], {ids:Array(String)}))), texts));

-- Adds the traces that were read as pieces of the same run.
INSERT INTO erased_traces
SELECT Tenant, TraceId
FROM decisions
WHERE Tenant = {tenant:String} AND startsWith(Reason, 'part_of_run')
    AND extract(Reason, '[0-9a-f]{32}') IN (SELECT TraceId FROM erased_traces);

-- Collects the sessions that hold one of the traces.
CREATE OR REPLACE TABLE erased_sessions ENGINE = MergeTree ORDER BY (Tenant, SessionId) AS
SELECT DISTINCT Tenant, SessionId, if(length(SessionId) > 200, concat('sha256:', lower(hex(SHA256(SessionId)))), SessionId) AS TargetId
FROM runs
WHERE SessionId != '' AND (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);

CREATE OR REPLACE TABLE erased_scores ENGINE = MergeTree ORDER BY ScoreId AS
SELECT DISTINCT ScoreId
FROM scores
WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces)
    OR (TraceId = '' AND (Tenant, SessionId) IN (SELECT Tenant, SessionId FROM erased_sessions));

ALTER TABLE otel_traces DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE otel_logs DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE trace_arrivals DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE trace_activity DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE trace_starts DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE judge_calls DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE scores DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE score_arrivals DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE outcome_arrivals DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE runs DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE decisions DELETE WHERE (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM erased_traces);
ALTER TABLE judge_calls DELETE WHERE TraceId = '' AND ScoreId IN (SELECT ScoreId FROM erased_scores);
ALTER TABLE score_arrivals DELETE WHERE TraceId = '' AND ScoreId IN (SELECT ScoreId FROM erased_scores);
ALTER TABLE scores DELETE WHERE TraceId = '' AND ScoreId IN (SELECT ScoreId FROM erased_scores);
ALTER TABLE outcome_arrivals DELETE WHERE TraceId = '' AND (Tenant, TargetId) IN (SELECT Tenant, TargetId FROM erased_sessions);
ALTER TABLE decisions DELETE WHERE TraceId = '' AND (Tenant, TargetId) IN (SELECT Tenant, TargetId FROM erased_sessions);
ALTER TABLE runs DELETE WHERE TraceId = '' AND (Tenant, SessionId) IN (SELECT Tenant, SessionId FROM erased_sessions);
ALTER TABLE exports DELETE WHERE ScoreId IN (SELECT ScoreId FROM erased_scores);
ALTER TABLE export_replays DELETE WHERE ScoreId IN (SELECT ScoreId FROM erased_scores);

-- Deletes records that were set aside unread: their bytes hold the id, or a trace id as text or in binary.
ALTER TABLE dead_letters DELETE
WHERE Tenant = {tenant:String} AND arrayExists(text -> position(base64Decode(Body), text) > 0,
    arrayConcat({ids:Array(String)}, (SELECT arrayConcat(groupArray(TraceId), groupArray(unhex(TraceId))) FROM erased_traces)));

-- Alerts stay, but no longer name the traces.
ALTER TABLE alert_events UPDATE Event = arrayFold((text, id) -> replaceAll(text, id, repeat('0', 32)),
    (SELECT groupArray(TraceId) FROM erased_traces), Event)
WHERE Tenant = {tenant:String} AND multiSearchAny(Event, (SELECT groupArray(TraceId) FROM erased_traces));

DROP TABLE erased_traces;
DROP TABLE erased_sessions;
DROP TABLE erased_scores;
