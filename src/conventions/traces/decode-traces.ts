import { decodeText } from '../../domain/text-encoding.ts';
import { decodeOtlpJson } from '../../wire/otlp-json.ts';
import type { LogRecord, Span, TraceData } from '../../domain/trace/span.ts';
import { rolesOf } from '../attributes.ts';
import { field, type Fields, firstField, readFields } from '../json.ts';
import { isRecord, tryParseJson } from '../../domain/unknown-values.ts';

/** Most listed problems. */
const MAX_PROBLEMS = 50;

/** Traces of an input, and the problems of its unreadable parts. */
export interface DecodedTraces {
  traces: TraceData[];
  /** Each problem names the line or the record, and what is wrong with it. */
  problems: string[];
}

interface Collected {
  spans: Map<string, Span[]>;
  logs: Map<string, LogRecord[]>;
  problems: string[];
}

/**
 * Decodes OTLP JSON into traces: one export request, a list of them, JSON text of either, or NDJSON text (a request per line).
 * Instead of a request, Mastra's native records are accepted. Traces come in order of their first span. Never throws because of
 * data.
 * @param place names the input in problems
 */
export function decodeTraces(input: unknown, place = 'input'): DecodedTraces {
  const collected: Collected = { spans: new Map(), logs: new Map(), problems: [] };
  if (input instanceof Uint8Array || typeof input === 'string') {
    collectText(decodeText(input), collected);
  } else {
    collectRequests(input, place, collected);
  }
  const ids = new Set([...collected.spans.keys(), ...collected.logs.keys()]);
  const traces = [...ids].map((traceId) => ({
    traceId,
    spans: collected.spans.get(traceId) ?? [],
    logs: collected.logs.get(traceId) ?? [],
  }));
  return { traces: sortTraces(traces), problems: collected.problems };
}

function collectText(text: string, collected: Collected): void {
  const whole = tryParseJson(text);
  if (whole.ok) {
    collectRequests(whole.value, 'input', collected);
    return;
  }
  const lines = text.split('\n').map((line, index) => ({ at: `line ${index + 1}`, text: line.trim() }));
  const parsed = lines
    .filter((line) => line.text !== '')
    .map((line) => ({ ...line, json: tryParseJson(line.text) }));
  if (!parsed.some(({ json }) => json.ok)) {
    if (parsed.length > 0) {
      addProblem(collected, `the input is neither JSON nor one JSON document a line: ${whole.reason}`);
    }
    return;
  }
  for (const { at, json } of parsed) {
    if (json.ok) {
      collectRequests(json.value, at, collected);
    } else {
      addProblem(collected, `${at} is not JSON: ${json.reason}`);
    }
  }
}

function collectRequests(value: unknown, where: string, collected: Collected): void {
  const requests: unknown[] = Array.isArray(value) ? value : [value];
  requests.forEach((request, index) => {
    const { spans, logs, rejected } = decodeOtlpJson(fromMastraRecords(request) ?? request);
    spans.forEach((span) => append(collected.spans, span.traceId, span));
    logs.filter((log) => log.traceId !== '').forEach((log) => append(collected.logs, log.traceId, log));
    const at = Array.isArray(value) ? `${where}[${index}]` : where;
    rejected.reasons.forEach((reason) => addProblem(collected, `${at}: ${reason}`));
  });
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key) ?? [];
  list.push(item);
  lists.set(key, list);
}

function addProblem(collected: Collected, problem: string): void {
  if (collected.problems.length < MAX_PROBLEMS) {
    collected.problems.push(problem);
  }
}

function sortTraces(traces: TraceData[]): TraceData[] {
  const keyed = traces.map((trace) => ({ trace, start: firstTime(trace) }));
  keyed.sort((a, b) =>
    a.start === b.start ? (a.trace.traceId < b.trace.traceId ? -1 : 1) : a.start < b.start ? -1 : 1,
  );
  return keyed.map(({ trace }) => trace);
}

function firstTime(trace: TraceData): bigint {
  const times = [
    ...trace.spans.map((span) => span.startUnixNano),
    ...trace.logs.map((log) => log.timeUnixNano),
  ];
  return times.reduce((low, time) => (time < low ? time : low), times[0] ?? 0n);
}

/** Mastra's own span types, with the operation that its OpenTelemetry exporter writes for them. */
const OPERATIONS = rolesOf<string>({
  invoke_agent: 'agent_run',
  model_generation: 'model_generation',
  chat: 'llm_generation model_inference',
  agent_step: 'model_step',
  model_chunk: 'model_chunk',
  execute_tool: 'tool_call mcp_tool_call provider_tool_call client_tool_call',
  invoke_workflow: 'workflow_run',
});

/** Beginnings of further types that a record of Mastra may have. */
const OTHER_TYPES =
  /^(processor_run|memory_operation|workflow_|rag_|graph_action|scorer_|workspace_action|mcp_server_request|generic$)/;

/** Ids of session and user that newer records have beside the metadata. */
const IDENTITIES = ['threadId', 'resourceId', 'sessionId', 'userId', 'runId'];

/** Converts Mastra's native records (a trace's `spans`, a span, an event's `exportedSpan`) to its exporter's OTLP. Undefined for other values. */
function fromMastraRecords(value: unknown): unknown {
  const listed = field(value, 'spans');
  const single = isRecord(value) ? (firstField(value, 'exportedSpan') ?? value) : undefined;
  const records: unknown[] = Array.isArray(listed) ? listed : [single];
  if (records.length === 0 || !records.every(isMastraRecord)) {
    return undefined;
  }
  return {
    resourceSpans: records.map((record) => ({
      resource: { attributes: listAttributes({ 'service.name': field(record, 'serviceName') }) },
      scopeSpans: [{ scope: { name: '@mastra/observability' }, spans: [toSpan(record)] }],
    })),
  };
}

function isMastraRecord(value: unknown): value is Fields {
  const type = isRecord(value) ? readType(value) : '';
  return (
    isRecord(value) &&
    (OPERATIONS.has(type) || OTHER_TYPES.test(type)) &&
    typeof field(value, 'traceId') === 'string' &&
    firstField(value, 'startedAt', 'startTime') !== undefined
  );
}

function readType(record: Fields): string {
  const type = firstField(record, 'spanType', 'type');
  return typeof type === 'string' ? type : '';
}

function toSpan(record: Fields): Fields {
  const startTimeUnixNano = readNanos(firstField(record, 'startedAt', 'startTime'));
  const error = firstField(record, 'error', 'errorInfo');
  const failure = isRecord(error) ? error : undefined;
  return {
    traceId: field(record, 'traceId'),
    spanId: firstField(record, 'spanId', 'id'),
    parentSpanId: firstField(record, 'parentSpanId') ?? '',
    name: field(record, 'name'),
    startTimeUnixNano,
    // Events have no end.
    endTimeUnixNano: readNanos(firstField(record, 'endedAt', 'endTime')) ?? startTimeUnixNano,
    attributes: listAttributes(readContent(record)),
    status: failure === undefined ? { code: 0 } : { code: 2, message: field(failure, 'message') ?? '' },
    events:
      failure === undefined
        ? []
        : [
            {
              name: 'exception',
              timeUnixNano: startTimeUnixNano,
              attributes: listAttributes({
                'exception.type': firstField(failure, 'name') ?? 'Error',
                'exception.message': field(failure, 'message'),
              }),
            },
          ],
  };
}

/** Converts milliseconds or an ISO time to OTLP's form; any other value is left for the decoder to refuse. */
function readNanos(time: unknown): unknown {
  const ms = typeof time === 'string' ? Date.parse(time) : time;
  return typeof ms === 'number' && Number.isFinite(ms) ? String(BigInt(Math.round(ms)) * 1_000_000n) : time;
}

function readContent(record: Fields): Fields {
  const type = readType(record) === 'llm_generation' ? 'model_generation' : readType(record);
  const about = readFields(field(record, 'attributes'));
  const operation = OPERATIONS.get(readType(record));
  const shared = {
    'gen_ai.operation.name': operation,
    'mastra.span.type': type,
    'mastra.tags': field(record, 'tags'),
    ...liftMetadata(record),
  };
  if (operation === 'execute_tool') {
    return {
      ...shared,
      'gen_ai.tool.name': firstField(record, 'entityName', 'entityId'),
      'gen_ai.tool.call.id': field(about, 'toolCallId'),
      'gen_ai.tool.call.arguments': field(record, 'input'),
      'gen_ai.tool.call.result': field(record, 'output'),
    };
  }
  return {
    ...shared,
    [`mastra.${type}.input`]: field(record, 'input'),
    [`mastra.${type}.output`]: field(record, 'output'),
    ...(operation === 'chat' || type === 'model_step' ? modelCall(record, about) : {}),
    ...(operation === 'invoke_agent' ? agent(record, about) : {}),
    ...(operation === 'invoke_workflow'
      ? { 'gen_ai.workflow.name': firstField(record, 'entityName', 'entityId') }
      : {}),
  };
}

function agent(record: Fields, about: Fields): Fields {
  return {
    'gen_ai.agent.id': field(record, 'entityId'),
    'gen_ai.agent.name': firstField(record, 'entityName', 'entityId'),
    'gen_ai.system_instructions': field(about, 'instructions'),
    'gen_ai.conversation.id': field(about, 'conversationId'),
  };
}

function modelCall(record: Fields, about: Fields): Fields {
  const usage = readFields(field(about, 'usage'));
  const text = field(readFields(field(record, 'output')), 'text');
  const said = [{ role: 'assistant', parts: [{ type: 'text', content: text }] }];
  return {
    'gen_ai.request.model': field(about, 'model'),
    'gen_ai.response.model': firstField(about, 'responseModel') || undefined,
    'gen_ai.response.id': field(about, 'responseId'),
    'gen_ai.provider.name': field(about, 'provider'),
    'gen_ai.response.finish_reasons': field(about, 'finishReason'),
    'gen_ai.usage.input_tokens': firstField(usage, 'inputTokens', 'promptTokens'),
    'gen_ai.usage.output_tokens': firstField(usage, 'outputTokens', 'completionTokens'),
    'gen_ai.usage.cache_read.input_tokens': field(readFields(field(usage, 'inputDetails')), 'cacheRead'),
    'gen_ai.usage.cache_write.input_tokens': field(readFields(field(usage, 'inputDetails')), 'cacheWrite'),
    'gen_ai.usage.reasoning_tokens': field(readFields(field(usage, 'outputDetails')), 'reasoning'),
    ...(typeof text === 'string' ? { 'gen_ai.output.messages': said } : {}),
  };
}

function liftMetadata(record: Fields): Fields {
  const metadata = readFields(field(record, 'metadata'));
  const identities = IDENTITIES.map((name) => [name, field(record, name)] as const);
  const all = [...identities.filter(([, value]) => typeof value === 'string'), ...Object.entries(metadata)];
  return Object.fromEntries(all.map(([name, value]) => [`mastra.metadata.${name}`, value]));
}

/** Converts fields to OTLP attributes; structures become JSON text, as in Mastra's exporter. */
function listAttributes(fields: Fields): Fields[] {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return present.map(([key, value]) => ({
    key,
    value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) },
  }));
}
