import { decodeTraces, readTogether } from '../../../src/conventions/index.ts';
import { normaliseTrace } from '../../../src/conventions/normalise-trace.ts';
import { isRecord } from '../../../src/domain/unknown-values.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Attributes, TraceData } from '../../../src/domain/trace/span.ts';
import { answerText, invocationParts, textOfMessage } from './facts.ts';
import { listExpectations, recordedSpans } from './recorded-spans.ts';

/** Prefixes of vendors, and keys that are no vendor's. */
const VENDOR =
  /^(gen_ai|ai\.observability|ai|llm|traceloop|langfuse\.observation|langfuse|langsmith|mastra|mlflow|gcp\.vertex\.agent|genkit|pydantic_ai|crewai|haystack|koog|spring\.ai|lk|lmnr|braintrust|flue|openinference|claude_code)[.:]/;
const SHARED =
  /^(http|db|url|net|network|server|client|rpc|messaging|code|thread|exception|service|otel)\.|^(session\.id|user\.id|error\.type)$/;
const KIND_KEY = /(operation\.name|span\.kind|observation\.type|spanType|span\.type|request\.type|subtype)$/;
const KINDS = new Map([
  ['chat', 'llm'],
  ['generate_content', 'llm'],
  ['text_completion', 'llm'],
  ['completion', 'llm'],
  ['generation', 'llm'],
  ['"CHAT_MODEL"', 'llm'],
  ['execute_tool', 'tool'],
  ['invoke_agent', 'agent'],
]);

/** Renames a key: `gen_ai.input.messages` is `zed.inputMessages`. */
function renameKey(key: string): string {
  const rest = key.replace(VENDOR, '');
  const [, head = rest, tail = ''] = /^(.*?)([._]\d+[._].*)$/.exec(rest) ?? [];
  const words = head.replaceAll(':', '.').replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase());
  return `zed.${words}${tail}`;
}

function renameAll(attributes: Attributes): Attributes {
  return new Map(
    [...attributes].map(([key, value]): [string, string] =>
      SHARED.test(key)
        ? [key, value]
        : KIND_KEY.test(key)
          ? ['zed.kind', KINDS.get(value) ?? value.toLowerCase()]
          : [renameKey(key), value],
    ),
  );
}

/** Returns the trace as an invented vendor would send it: its scope, keys and events, the words of the keys kept. */
export function renameTrace(trace: TraceData): TraceData {
  const renameEvent = (name: string): string => name.replaceAll('gen_ai', 'zed');
  return {
    ...trace,
    spans: trace.spans.map((span) => ({
      ...span,
      scopeName: 'zed.sdk',
      attributes: renameAll(span.attributes),
      events: span.events.map((event) => ({
        ...event,
        name: renameEvent(event.name),
        attributes: renameAll(event.attributes),
      })),
    })),
    logs: trace.logs.map((log) => ({
      ...log,
      scopeName: 'zed.sdk',
      eventName: renameEvent(log.eventName),
      attributes: renameAll(log.attributes),
    })),
  };
}

/** Lists the recorded traces, each with those of its recording. */
export function listRecordedTraces(): TraceData[][] {
  return (['spans', 'spans-multi', 'spans-thirdparty'] as const).flatMap((folder) =>
    listExpectations<unknown>(folder).map(([name]) => [...decodeTraces(recordedSpans(folder, name)).traces]),
  );
}

/** Changes the traces of one recording to those of an emitter that nobody knows. */
export type Disguise = (traces: readonly TraceData[]) => TraceData[];

export const underOtherNames: Disguise = (traces) => traces.map(renameTrace);

/** Keeps the conventions that read any span of the recording from reading it. */
export const withoutOwnConventions: Disguise = (traces) => {
  const spans = traces.flatMap((trace) => normaliseTrace({ ...trace, readByShape: false }).spans);
  const without = new Set(spans.flatMap(({ conventions }) => [...conventions.keys()]));
  return traces.map((trace) => ({ ...trace, without }));
};

/** Number of scorable runs, and of those with the same facts when no convention knows their emitter. */
export interface ShapeFigures {
  runs: number;
  answered: number;
  withTools: number;
  models: number;
  usage: number;
}

/** Reads each recording twice, and compares the runs. */
export function compareDisguised(
  recordings: readonly (readonly TraceData[])[],
  disguise: Disguise,
): ShapeFigures {
  const figures: ShapeFigures = { runs: 0, answered: 0, withTools: 0, models: 0, usage: 0 };
  for (const traces of recordings) {
    const [before, after] = [traces, disguise(traces)].map((each) =>
      readTogether(each).flatMap(({ runs }) => runs.map(describe)),
    );
    for (const run of (before ?? []).filter(({ scorable }) => scorable)) {
      const same = (after ?? []).filter(({ said }) => said === run.said);
      figures.runs++;
      figures.answered += same.length > 0 ? 1 : 0;
      figures.withTools += same.some(({ calls }) => calls === run.calls) ? 1 : 0;
      figures.models += same.some(({ models }) => models === run.models) ? 1 : 0;
      figures.usage += same.some(({ usage }) => usage === run.usage) ? 1 : 0;
    }
  }
  return figures;
}

function describe(run: AgentRun) {
  const calls = invocationParts(run.output).map(({ toolInvocation: call }) =>
    call.state === 'result'
      ? [call.toolName, call.args, call.result]
      : [call.toolName, call.args, call.errorText],
  );
  return {
    scorable: run.scorable,
    said: JSON.stringify([
      run.input.inputMessages.map(textOfMessage).join('\n').trim(),
      answerText(run).trim(),
    ]),
    calls: JSON.stringify(calls, sortKeys),
    models: run.models.join(),
    usage: JSON.stringify([run.usage.inputTokens, run.usage.outputTokens]),
  };
}

/** Sorts the keys of an object: its order says nothing. */
function sortKeys(_key: string, value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}
