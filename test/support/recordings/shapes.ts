import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readTraces } from '../../../src/conventions/index.ts';
import type { AgentRun, TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { AgentMessage, MessagePart, ToolInvocationPart } from '../../../src/domain/trace/messages.ts';
import { textOfMessage } from './facts.ts';

interface ExpectedCall {
  name: string;
  args: unknown;
  id?: string;
  result?: unknown;
  error?: string;
  handoff?: boolean;
  providerExecuted?: boolean;
}

interface ExpectedSubRun {
  agent: string;
  input: string;
  answer: string;
  tools: string[];
}

/** Expected run of a synthetic case, as in `shapes/expected.json`; absent facts are not compared. */
export interface ExpectedShape {
  agent?: string;
  input?: string;
  history?: string[];
  system?: string[];
  answer?: string;
  tools?: ExpectedCall[];
  /** Calls of the run or of a sub-run; `tools` are the other calls. */
  anywhere?: ExpectedCall[];
  status?: string;
  models?: string[];
  /** Input and output tokens; null when the spans have no counts. */
  usage?: [input: number, output: number] | null;
  sessionId?: string | null;
  userId?: string;
  documents?: string[];
  /** Names of the sub-runs' agents, or the sub-runs. */
  subRuns?: (string | ExpectedSubRun)[];
  notScorable?: { code: string; adviceNames?: string; adviceMustNotName?: string };
  /** Texts that no message of the run may contain. */
  forbid?: string[];
}

const FOLDER = new URL('../../fixtures/shapes/', import.meta.url);

/** Lists the shapes by their files. */
export function listShapes(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.otlp.json') && !file.endsWith('.logs.otlp.json'))
    .map((file) => file.replace('.otlp.json', ''))
    .toSorted();
}

/** Lists the expectations by shape. */
export function listExpectedShapes(): [name: string, expected: ExpectedShape][] {
  const text = readFileSync(new URL('expected.json', FOLDER), 'utf8');
  return Object.entries(JSON.parse(text) as Record<string, ExpectedShape>);
}

/** Reads the spans of a shape, with the log records beside them. */
export function readShapeFiles(name: string): TraceReading[] {
  const urls = [`${name}.otlp.json`, `${name}.logs.otlp.json`].map((file) => new URL(file, FOLDER));
  return readTraces(
    urls.filter((url) => existsSync(url)).map((url): unknown => JSON.parse(readFileSync(url, 'utf8'))),
  );
}

/** Builds the facts of the only run in these readings, in the form of the expectation. */
export function readShape(readings: readonly TraceReading[], expected: ExpectedShape): ExpectedShape {
  const runs = readings.flatMap((reading) => reading.runs);
  const [run] = runs;
  if (run === undefined || runs.length > 1) {
    throw new Error(`${runs.length} runs instead of 1: ${JSON.stringify(readings[0]?.notScorable)}`);
  }
  const calls = listCalls(run);
  const anywhere = expected.anywhere ?? [];
  const all: Required<ExpectedShape> = {
    agent: run.agent ?? '',
    input: run.input.inputMessages.map(textOfMessage).join('\n'),
    history: run.input.rememberedMessages.map(describeMessage),
    system: run.input.systemMessages.map(({ content }) =>
      typeof content === 'string' ? content : content.map((part) => part.text).join(''),
    ),
    answer: lastWords(run),
    tools: calls
      .filter(({ toolInvocation: { toolName } }) => !anywhere.some(({ name }) => name === toolName))
      .map((call, index) => describeCall(call, expected.tools?.[index])),
    anywhere: anywhere.flatMap(
      (one) =>
        listAllCalls(run)
          .filter(({ toolInvocation: { toolName } }) => toolName === one.name)
          .map((call) => describeCall(call, one))[0] ?? [],
    ),
    status: run.status,
    models: run.models,
    usage:
      run.usage.inputTokens === null && run.usage.outputTokens === null
        ? null
        : [run.usage.inputTokens ?? 0, run.usage.outputTokens ?? 0],
    sessionId: run.sessionId,
    userId: run.userId ?? '',
    documents: run.documents.map((document) => document.content),
    subRuns: run.subRuns.map((sub, index) =>
      typeof expected.subRuns?.[index] === 'string' ? (sub.agent ?? '') : describeSubRun(sub),
    ),
    notScorable: { ...expected.notScorable, code: run.notScorable?.code ?? '' },
    forbid: expected.forbid ?? [],
  };
  return Object.fromEntries(Object.keys(expected).map((key) => [key, all[key as keyof ExpectedShape]]));
}

/** Lists the texts and data of every message of the run, without its calls' arguments and results. */
export function listSaid(readings: readonly TraceReading[]): string[] {
  const messages = readings
    .flatMap((reading) => reading.runs)
    .flatMap(({ input, output }) => [...input.inputMessages, ...input.rememberedMessages, ...output]);
  return messages.flatMap((message) =>
    message.content.parts.flatMap((part) =>
      part.type === 'step-start' ? [] : [JSON.stringify(part.type === 'text' ? part['text'] : part)],
    ),
  );
}

function listCalls(run: AgentRun): ToolInvocationPart[] {
  return run.output.flatMap((message) => message.content.parts.filter(isInvocation));
}

function listAllCalls(run: AgentRun): ToolInvocationPart[] {
  return [...listCalls(run), ...run.subRuns.flatMap(listAllCalls)];
}

function isInvocation(part: MessagePart): part is ToolInvocationPart {
  return part.type === 'tool-invocation';
}

function describeCall(part: ToolInvocationPart, expected: ExpectedCall | undefined): ExpectedCall {
  const { toolInvocation: call } = part;
  return {
    name: call.toolName,
    args: call.args,
    ...(expected?.id === undefined ? {} : { id: call.toolCallId }),
    ...(call.state === 'result' ? { result: call.result } : {}),
    ...(call.state === 'output-error' ? { error: call.errorText ?? '' } : {}),
    ...(part['handoff'] === true ? { handoff: true } : {}),
    ...(part['providerExecuted'] === true ? { providerExecuted: true } : {}),
  };
}

function describeMessage(message: AgentMessage): string {
  const parts = message.content.parts.map((part) => {
    if (isInvocation(part)) {
      const { toolInvocation: call } = part;
      const result = call.state === 'result' ? ` → ${JSON.stringify(call.result)}` : '';
      return `call ${call.toolName} ${JSON.stringify(call.args)}${result}`;
    }
    return part.type === 'text' ? part['text'] : `(${part.type})`;
  });
  return `${message.role}: ${parts.join(' | ')}`;
}

function describeSubRun(run: AgentRun): ExpectedSubRun {
  return {
    agent: run.agent ?? '',
    input: run.input.inputMessages.map(textOfMessage).join('\n'),
    answer: lastWords(run),
    tools: listCalls(run).map(({ toolInvocation }) => toolInvocation.toolName),
  };
}

/** Returns the text after the last tool call: the answer. */
function lastWords({ output }: AgentRun): string {
  const parts = output.flatMap((message) => message.content.parts);
  const lastCall = parts.findLastIndex((part) => part.type === 'tool-invocation');
  return parts
    .slice(lastCall + 1)
    .map((part) => (part.type === 'text' ? part['text'] : ''))
    .join('')
    .trim();
}
