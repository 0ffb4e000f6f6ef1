import { describe, expect, it } from 'vitest';
import { decodeTraces, readTrace, readTraces } from '../../../../src/conventions/index.ts';
import type { AgentRun } from '../../../../src/domain/trace/agent-run.ts';
import type { ToolInvocation } from '../../../../src/domain/trace/messages.ts';
import type { Attributes, TraceData } from '../../../../src/domain/trace/span.ts';
import { invocationParts } from '../../../support/recordings/facts.ts';
import { loss, mutated, mutation } from '../../../support/builders/mutated-traces.ts';
import { renameTrace } from '../../../support/recordings/renamed.ts';
import { listExpectations, recordedSpans } from '../../../support/recordings/recorded-spans.ts';
import { fc } from '../../../support/fast-check.ts';

const RUNS = 2_000;
const WITHOUT_RESULTS = 500;
const ORDERS = 250;
const TIMEOUT_MS = 900_000;

const recordings = (['spans', 'spans-multi', 'spans-thirdparty'] as const).flatMap((folder) =>
  listExpectations<unknown>(folder).map(([name]) => recordedSpans(folder, name)),
);
const asRecorded = recordings.flatMap((recording) => decodeTraces(recording).traces);
/** With the names of their emitters, and under names that no convention knows. */
const traces = [...asRecorded, ...asRecorded.map(renameTrace)];

function listCalls(run: AgentRun): ToolInvocation[] {
  const own = invocationParts([...run.output, ...run.input.rememberedMessages]);
  return [...own.map((part) => part.toolInvocation), ...run.subRuns.flatMap(listCalls)];
}

function formatValues(trace: TraceData): string {
  const lists: Attributes[] = [
    ...trace.spans.flatMap((span) => [span.attributes, ...span.events.map((event) => event.attributes)]),
    ...trace.logs.map((log) => log.attributes),
  ];
  // An object that is flattened into keys has the names of its members there.
  const texts = lists.flatMap((attributes) => [...attributes].flat());
  return [...texts, ...trace.logs.map((log) => log.body)].join('\n');
}

/** Words that a result says and the trace does not. Escapes are no words. */
function inventedWords(result: unknown, said: string): string[] {
  const words = JSON.stringify(result ?? '').match(/[A-Za-z]{3,}|\d{2,}/g) ?? [];
  return words.filter((word) => !said.includes(word) && !/^(true|false|null)$/.test(word));
}

describe('recorded traces, damaged at random', () => {
  it(
    `are read without an exception, and no result is made up: ${RUNS} of them`,
    () => {
      const property = fc.property(
        fc.nat(traces.length - 1),
        fc.array(mutation, { minLength: 1, maxLength: 6 }),
        (index, mutations) => {
          const trace = mutated(traces[index] as TraceData, mutations);
          const reading = readTrace(trace);
          expect(reading.runs.length > 0 || reading.notScorable !== null).toBe(true);
          const calls = reading.runs.flatMap(listCalls).filter((call) => call.state === 'result');
          const said = calls.length === 0 ? '' : formatValues(trace);
          expect(calls.flatMap((call) => inventedWords(call.result, said))).toEqual([]);
        },
      );
      fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MS,
  );

  it(
    `give no call a result when every result was taken out first: ${WITHOUT_RESULTS} of them`,
    () => {
      const silent = recordings.flatMap((recording) => decodeTraces(recording).traces.map(withoutResults));
      const property = fc.property(
        fc.nat(silent.length - 1),
        fc.array(loss, { minLength: 1, maxLength: 6 }),
        (index, mutations) => {
          const { runs } = readTrace(mutated(silent[index] as TraceData, mutations));
          expect(answered(runs)).toEqual([]);
        },
      );
      fc.assert(property, { numRuns: WITHOUT_RESULTS });
    },
    TIMEOUT_MS,
  );

  it(
    'read the same in any order of spans',
    () => {
      const shuffled = fc.nat(traces.length - 1).chain((index) => {
        const trace = traces[index] as TraceData;
        return fc.tuple(
          fc.constant(trace),
          fc.array(mutation, { maxLength: 3 }),
          fc.array(fc.nat(), { minLength: trace.spans.length, maxLength: trace.spans.length }),
        );
      });
      const property = fc.property(shuffled, ([recorded, mutations, ranks]) => {
        const trace = mutated(recorded, mutations);
        const order = new Map(
          trace.spans.map((span, i) => [span, ranks[i % Math.max(1, ranks.length)] ?? 0]),
        );
        const spans = trace.spans.toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
        expect(readTrace({ ...trace, spans })).toEqual(readTrace(trace));
      });
      fc.assert(property, { numRuns: ORDERS });
    },
    TIMEOUT_MS,
  );
});

interface Request {
  resourceSpans?: { scopeSpans: { spans: unknown[] }[] }[];
  resourceLogs?: { scopeLogs: { logRecords: unknown[] }[] }[];
}

/** Every span of an export request in a request of its own. */
function listSpans({ resourceSpans = [] }: Request): unknown[] {
  return resourceSpans.flatMap((resource) =>
    resource.scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        resourceSpans: [{ ...resource, scopeSpans: [{ ...scope, spans: [span] }] }],
      })),
    ),
  );
}

/** Every log record of an export request in a request of its own. */
function listLogs({ resourceLogs = [] }: Request): unknown[] {
  return resourceLogs.flatMap((resource) =>
    resource.scopeLogs.flatMap((scope) =>
      scope.logRecords.map((record) => ({
        resourceLogs: [{ ...resource, scopeLogs: [{ ...scope, logRecords: [record] }] }],
      })),
    ),
  );
}

const FOLDERS = ['spans', 'spans-multi'] as const;
const NAMES = FOLDERS.flatMap((folder) =>
  listExpectations<unknown>(folder).map(([name]) => [folder, name] as const),
);

it.each(NAMES)(
  '%s/%s reads the same when each span and each record comes in a request of its own, the last span first',
  (folder, name) => {
    const recording = recordedSpans(folder, name);
    const requests = recording.split('\n').map((line) => JSON.parse(line) as Request);
    const [spans, logs] = [requests.flatMap(listSpans), requests.flatMap(listLogs)];
    expect(readTraces([...logs, ...spans.toReversed()])).toEqual(readTraces(recording));
  },
);

describe.each(listExpectations<unknown>('spans').map(([name]) => name))('%s', (name) => {
  const recording = recordedSpans('spans', name);

  it('gives no call a result once every result is taken out', () => {
    const without = decodeTraces(recording).traces.map(withoutResults);
    expect(answered(without.flatMap((trace) => readTrace(trace).runs))).toEqual([]);
  });
});

/** Calls of the weather tool that have a result. */
function answered(runs: readonly AgentRun[]): ToolInvocation[] {
  const results = runs.flatMap(listCalls).filter((call) => call.state === 'result');
  return results.filter((call) => call.toolName === 'get_weather');
}

/** The trace less everything that holds what the weather tool of the recordings returned, or its failure. */
function withoutResults(trace: TraceData): TraceData {
  const isClean = (text: string): boolean => !/tempC|service (is )?down|error|Error|failed/.test(text);
  const cleaned = (attributes: Attributes): Attributes =>
    new Map([...attributes].filter(([, value]) => isClean(value)));
  return {
    ...trace,
    spans: trace.spans.map((span) => ({
      ...span,
      attributes: cleaned(span.attributes),
      events: span.events
        .filter((event) => [...event.attributes.values()].every(isClean))
        .map((event) => ({ ...event, attributes: cleaned(event.attributes) })),
    })),
    logs: trace.logs.filter((log) => isClean(log.body) && [...log.attributes.values()].every(isClean)),
  };
}
