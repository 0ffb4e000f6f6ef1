import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/conventions/index.ts';
import { normaliseSpan } from '../../../src/conventions/normalise-span.ts';
import { normaliseTrace } from '../../../src/conventions/normalise-trace.ts';
import type { NormalisedSpan } from '../../../src/conventions/normalised-span.ts';
import type { LogRecord } from '../../../src/domain/trace/span.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { buildSpan, chatMessage } from '../../support/builders/spans.ts';

type Key = readonly [key: string, value: string];

const PLATFORMS =
  'lmnr voltagent traceloop langfuse mlflow agentops braintrust langsmith _dd _ml_obs datadog sentry newrelic posthog logfire opik wandb deepeval arize galileo langwatch helicone portkey acme';

/** Keys that a platform puts on every span, with values that are no content. */
const HARMLESS: readonly Key[] = [
  ...PLATFORMS.split(' ').map((name): Key => [`${name}.session`, 's-1']),
  ['lmnr.span.path', '["a","b"]'],
  ['lmnr.association.properties.session_id', 's-1'],
  ['voltagent.operation_id', 'op-1'],
  ['voltagent.conversation_id', 'c-1'],
  ['traceloop.association.properties.user_id', 'u-1'],
  ['traceloop.workflow.name', 'shop'],
  ['traceloop.entity.name', 'shop'],
  ['langfuse.trace.tags', '["a"]'],
  ['langfuse.version', '2'],
  ['mlflow.traceRequestId', '"tr-1"'],
  ['braintrust.parent', 'project_name:shop'],
  ['langsmith.metadata.thread_id', 't-1'],
  ['_dd.p.tid', '6761'],
  ['logfire.msg', 'chat'],
  ['logfire.json_schema', '{"type":"object","properties":{}}'],
  ['sentry.origin', 'auto'],
  ['entity.type', 'agent'],
];

/** Right kinds in the words of each platform. */
const KINDS: Readonly<Record<'llm' | 'tool', readonly Key[]>> = {
  llm: [
    ['openinference.span.kind', 'LLM'],
    ['gen_ai.operation.name', 'chat'],
    ['llm.request.type', 'chat'],
    ['traceloop.span.kind', 'llm'],
    ['lmnr.span.type', 'LLM'],
    ['langsmith.span.kind', 'llm'],
    ['langfuse.observation.type', 'generation'],
    ['mlflow.spanType', '"CHAT_MODEL"'],
    ['braintrust.span_attributes', '{"type":"llm"}'],
    ['agentops.span.kind', 'llm'],
    ['span.type', 'llm'],
    ['sentry.op', 'gen_ai.chat'],
    ['opik.span.type', 'llm'],
  ],
  tool: [
    ['openinference.span.kind', 'TOOL'],
    ['gen_ai.operation.name', 'execute_tool'],
    ['traceloop.span.kind', 'tool'],
    ['lmnr.span.type', 'TOOL'],
    ['langsmith.span.kind', 'tool'],
    ['langfuse.observation.type', 'tool'],
    ['mlflow.spanType', 'TOOL'],
    ['braintrust.span_attributes', '{"type":"tool"}'],
    ['agentops.span.kind', 'tool'],
    ['span.type', 'tool'],
    ['sentry.op', 'gen_ai.execute_tool'],
    ['opik.span.type', 'tool'],
  ],
};

/** Lists recorded model and tool spans with their records; one of those with the same scope and keys. */
function listRecorded(): { read: NormalisedSpan; logs: LogRecord[] }[] {
  const found = new Map<string, { read: NormalisedSpan; logs: LogRecord[] }>();
  for (const folder of ['spans', 'spans-multi', 'spans-thirdparty'] as const) {
    for (const [name] of listExpectations(folder)) {
      for (const trace of decodeTraces(recordedSpans(folder, name)).traces) {
        for (const read of normaliseTrace(trace).spans) {
          const { span, facts } = read;
          const keys = [...span.attributes.keys()].map((key) => key.replace(/\.\d+(?=\.|$)/g, '.*'));
          const kind = JSON.stringify([
            facts.role,
            span.scopeName,
            span.events.length > 0,
            [...new Set(keys)].toSorted(),
          ]);
          if ((facts.role === 'llm' || facts.role === 'tool') && !found.has(kind)) {
            found.set(kind, { read, logs: trace.logs.filter((log) => log.spanId === span.spanId) });
          }
        }
      }
    }
  }
  return [...found.values()];
}

/** Returns the facts that no key of another convention may change. */
function fixedFacts({ facts }: NormalisedSpan): unknown {
  const isFree = (key: string, value: unknown): boolean =>
    value === null || key === 'session' || key === 'user' || key === 'provider';
  return JSON.parse(JSON.stringify(facts, (key, value: unknown) => (isFree(key, value) ? undefined : value)));
}

describe('facts of a span', () => {
  it('stay as they are under each key that another platform puts on it', () => {
    const recorded = listRecorded();
    expect(recorded.length).toBeGreaterThan(150);
    const changed = recorded.flatMap(({ read: { span }, logs }) => {
      const before = normaliseSpan(span, logs);
      const keys = [...HARMLESS, ...KINDS[before.facts.role === 'tool' ? 'tool' : 'llm']];
      return keys
        .filter(([key]) => !span.attributes.has(key))
        .filter(([key, value]) => {
          const attributes = new Map([...span.attributes, [key, value]]);
          const after = normaliseSpan({ ...span, attributes }, logs);
          return !isDeepStrictEqual(fixedFacts(after), fixedFacts(before));
        })
        .map(([key, value]) => `${span.serviceName} ${span.name}: ${key}=${value}`);
    });
    expect(changed).toEqual([]);
  });

  it.each([
    ['a kind without content', { 'openinference.span.kind': 'CHAIN' }],
    ['the name of a tool', { 'langfuse.observation.type': 'tool' }],
  ])('have the kind of the convention with content beside %s', (_what, keys) => {
    const message = chatMessage('assistant', 'Yes.');
    const span = buildSpan('s', {
      ...keys,
      'gen_ai.operation.name': 'chat',
      'gen_ai.output.messages': [message],
    });
    const { facts } = normaliseSpan(span, []);
    expect(facts).toMatchObject({ role: 'llm', output: [{ type: 'text', text: 'Yes.' }] });
  });
});
