import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun, TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { AgentMessage, MessagePart } from '../../../src/domain/trace/messages.ts';
import type { LogRecord, Span, TraceData } from '../../../src/domain/trace/span.ts';
import { buildLog, buildSpan, buildTrace, type SpanOptions } from '../../support/builders/spans.ts';
import { answerText } from '../../support/recordings/facts.ts';

const FOLDER = new URL('../../fixtures/formats/', import.meta.url);

type Keys = Record<string, unknown>;

/** A span of a case, in the words of `buildSpan`; `more` are further fields of the span. */
interface WrittenSpan extends Omit<SpanOptions, 'events'> {
  id: string;
  keys?: Keys;
  /** Events with their time in Unix nanoseconds; default 0. */
  events?: { name: string; time?: string; keys: Record<string, string> }[];
  more?: Partial<Span>;
}

/** A log record of a case: its fields beside the keys are those of the record. */
interface WrittenLog extends Partial<Omit<LogRecord, 'attributes'>> {
  span: string;
  event: string;
  at?: number;
  keys?: Keys;
}

interface Written {
  spans: WrittenSpan[];
  logs?: WrittenLog[];
  /** Empty and absent facts are left out. Context and conventions are compared where a run names them. */
  expected: { runs?: { context?: unknown; conventions?: unknown }[] };
}

function build({ spans, logs = [] }: Written): TraceData {
  return buildTrace(
    spans.map(({ id, keys = {}, events = [], more, ...options }) => ({
      ...buildSpan(id, keys, {
        ...options,
        events: events.map(({ name, time = '0', keys: attributes }) => ({
          name,
          timeUnixNano: BigInt(time),
          attributes: new Map(Object.entries(attributes)),
        })),
      }),
      ...more,
    })),
    logs.map(({ span, event, at, keys = {}, ...more }) => ({ ...buildLog(span, event, keys, at), ...more })),
  );
}

/** Leaves out what is empty. */
function present(values: object): Keys {
  const isEmpty = (value: unknown): boolean =>
    value === null ||
    value === undefined ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)));
}

function describePart(part: MessagePart): unknown {
  if (part.type === 'text') {
    return part['text'];
  }
  if (part.type === 'reasoning') {
    return { reasoning: part['reasoning'] };
  }
  if (part.type !== 'tool-invocation') {
    return part;
  }
  const { type: _type, toolInvocation, ...marks } = part;
  const { toolCallId: id, toolName: call, args, state, result, errorText } = toolInvocation;
  const outcome =
    state === 'result' ? { result } : state === 'output-error' ? { error: errorText } : { state };
  return { call, id, args, ...outcome, ...marks };
}

const describeMessage = ({ role, content }: AgentMessage) => ({ [role]: content.parts.map(describePart) });

function describeRun(run: AgentRun, compared: object): Keys {
  const { input, documents, notScorable, warnings } = run;
  const facts = present({
    agent: run.agent,
    agentVersion: run.agentVersion,
    serviceVersion: run.serviceVersion,
    environment: run.environment,
    session: run.sessionId,
    user: run.userId,
    models: run.models,
    usage: present(run.usage),
    error: run.error,
    system: input.systemMessages.map(({ content }) => content),
    tagged: input.taggedSystemMessages,
    remembered: input.rememberedMessages.map(describeMessage),
    input: input.inputMessages.map(describeMessage),
    output: run.output.map(describeMessage),
    answer: answerText(run),
    documents: documents.map(present),
    tools: run.tools,
    notScorable: notScorable?.code,
    warnings: warnings.map(({ code }) => code),
    subRuns: run.subRuns.map((sub) => describeRun(sub, compared)),
  });
  const named = { context: run.context, conventions: run.conventions };
  return { ...facts, ...Object.fromEntries(Object.entries(named).filter(([key]) => key in compared)) };
}

function describeReading({ runs, notScorable, notUnderstood }: TraceReading, expected: Written['expected']) {
  return present({
    runs: runs.map((run, at) => describeRun(run, expected.runs?.[at] ?? {})),
    notScorable: notScorable?.code,
    notUnderstood: notUnderstood.map(({ name, attributes }) => ({ name, attributes })),
  });
}

describe.each(readdirSync(FOLDER))('spans of %s are read as expected:', (file) => {
  const cases = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Record<string, Written>;
  it.each(Object.entries(cases))('%s', (_name, written) => {
    expect(describeReading(readTrace(build(written)), written.expected)).toEqual(written.expected);
  });
});
