-- `Signals` says, too, whether a word of agents is in any attribute key or event name: for emitters that no convention knows.
ALTER TABLE trace_arrivals_of_spans MODIFY QUERY
SELECT
    max(otel_traces.ArrivedAt) AS ArrivedAt,
    Tenant,
    TraceId,
    groupUniqArray(SpanId) AS SpanIds,
    groupUniqArrayIf(ParentSpanId, ParentSpanId != '') AS ParentIds,
    min(toUnixTimestamp64Nano(Timestamp)) AS FirstStart,
    max(toInt64(least(
        toInt128(toUnixTimestamp64Nano(Timestamp)) + if(Duration < 9223372036854775808, Duration, 0),
        toInt128(9223372036854775807)))) AS LastEnd,
    max(ParentSpanId = '') AS RootSeen,
    groupUniqArrayArray(arrayDistinct(arrayConcat(
        [concat('scope:', substring(ScopeName, 1, 200))],
        arrayMap(name -> concat('key:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), mapKeys(SpanAttributes)),
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), `Events.Name`),
        if(multiSearchAny(replaceAll(lower(arrayStringConcat(arrayConcat(mapKeys(SpanAttributes), `Events.Name`), '\n')), 'user_agent', ''), ['llm', 'prompt', 'completion', 'tokens', 'agent', 'assistant', 'tool.name', 'tool_name', 'toolname', 'tool.call', 'tool_call', 'toolcall', '.model', '_model', 'model.name', 'model_name', 'modelname', 'model_id', 'modelid', 'messages', 'question', 'answer', 'chat', 'conversation', 'transcript']), ['word:agent'], [])))) AS Signals,
    max(StatusCode = 'Error') AS ErrorSeen
FROM otel_traces
WHERE TraceId != '' AND ScopeName != 'spanscore'
GROUP BY Tenant, TraceId;

ALTER TABLE trace_arrivals_of_logs MODIFY QUERY
SELECT
    max(otel_logs.ArrivedAt) AS ArrivedAt,
    Tenant,
    TraceId,
    CAST([], 'Array(String)') AS SpanIds,
    CAST([], 'Array(String)') AS ParentIds,
    min(toUnixTimestamp64Nano(if(toUnixTimestamp64Nano(Timestamp) > 0, Timestamp, otel_logs.ArrivedAt))) AS FirstStart,
    max(toUnixTimestamp64Nano(Timestamp)) AS LastEnd,
    toUInt8(0) AS RootSeen,
    groupUniqArrayArray(arrayDistinct(arrayConcat(
        [concat('scope:', substring(ScopeName, 1, 200))],
        arrayMap(name -> concat('key:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), mapKeys(LogAttributes)),
        arrayMap(name -> concat('event:', substring(name, 1, if(position(name, '.') = 0, 32, least(position(name, '.'), 32)))), [EventName]),
        if(multiSearchAny(replaceAll(lower(arrayStringConcat(arrayConcat(mapKeys(LogAttributes), [EventName]), '\n')), 'user_agent', ''), ['llm', 'prompt', 'completion', 'tokens', 'agent', 'assistant', 'tool.name', 'tool_name', 'toolname', 'tool.call', 'tool_call', 'toolcall', '.model', '_model', 'model.name', 'model_name', 'modelname', 'model_id', 'modelid', 'messages', 'question', 'answer', 'chat', 'conversation', 'transcript']), ['word:agent'], [])))) AS Signals,
    toUInt8(0) AS ErrorSeen
FROM otel_logs
WHERE TraceId != '' AND ScopeName != 'spanscore'
GROUP BY Tenant, TraceId;
