import { expect } from 'vitest';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun, TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { AgentMessage, ToolInvocation, ToolInvocationPart } from '../../../src/domain/trace/messages.ts';
import type { LogRecord, Span } from '../../../src/domain/trace/span.ts';
import { buildTrace } from '../builders/spans.ts';

/** Expected facts of a recording of the weather story, as in `spans/expected.json`. */
export interface ExpectedFacts {
  present?: string[];
  absent?: string[];
  notScorable?: string[];
}

/** Run of `spans-multi/expected.json`. */
interface ExpectedRun {
  agent: string;
  system: string | null;
  input: string;
  tools: {
    name: string;
    args: unknown;
    result: unknown;
    subAgent?: string;
    handoffTo?: string;
  }[];
  answer: string | null;
  usage: string;
  usageWithSubs?: string;
  session?: string | null;
  error?: null;
  documents?: { id: string; text: string }[];
  remembered?: string[];
}

export interface ExpectedRuns {
  top: ExpectedRun[];
  sub: ExpectedRun[];
  /** Which part of the usage the emitter really sent. */
  usageReadable?: { top?: string; sub?: string };
  readTopName?: string;
}

const QUESTION = /What is the weather (like )?in Paris/;
const HISTORY = ['Hi, I am Ann.', 'Hello Ann!'];
const DOCUMENTS = ['Paris is rainy in November.', 'Berlin is cold in winter.'];

export function textOfMessage(message: AgentMessage): string {
  return message.content.parts.map((part) => (part.type === 'text' ? part['text'] : '')).join('');
}

/** Returns the text of the answer: the final text of the last assistant message. */
export function answerText(run: AgentRun): string {
  return (run.output.at(-1)?.content.content ?? '').trim();
}

/** Reads spans whose format is understood and which are one run. */
export function onlyRun(spans: readonly Span[], logs?: readonly LogRecord[]): AgentRun {
  const { runs, notUnderstood } = readTrace(buildTrace(spans, logs));
  expect(notUnderstood).toEqual([]);
  expect(runs).toHaveLength(1);
  return runs[0] as AgentRun;
}

export function invocationParts(messages: readonly AgentMessage[]): ToolInvocationPart[] {
  return messages.flatMap((message) =>
    message.content.parts.filter((part): part is ToolInvocationPart => part.type === 'tool-invocation'),
  );
}

export function invocations(run: AgentRun): ToolInvocation[] {
  return invocationParts(run.output).map((part) => part.toolInvocation);
}

/** Lists the facts of the story in these readings. */
export function listFacts(readings: readonly TraceReading[]): Set<string> {
  const runs = readings.flatMap((reading) => reading.runs);
  const calls = runs.flatMap(invocations);
  const input = runs.flatMap((run) => run.input.inputMessages.map(textOfMessage));
  const remembered = runs.flatMap((run) => run.input.rememberedMessages.map(textOfMessage));
  const systems = runs.flatMap((run) =>
    run.input.systemMessages.map((message) => JSON.stringify(message.content)),
  );
  const documents = runs.flatMap((run) => run.documents.map((document) => document.content));
  const sum = (key: 'inputTokens' | 'outputTokens'): number =>
    runs.reduce((total, run) => total + (run.usage[key] ?? 0), 0);
  const checks: Record<string, boolean> = {
    system: systems.some((text) => text.includes('You are a weather assistant.')),
    question: input.some((text) => QUESTION.test(text)),
    history:
      HISTORY.every((text) => remembered.some((one) => one.includes(text))) &&
      !input.some((text) => HISTORY.some((one) => text.includes(one))),
    toolName: calls.some((call) => /weather|DynamicStructuredTool/i.test(call.toolName)),
    toolArgs: calls.some((call) => JSON.stringify(call.args) === '{"city":"Paris"}'),
    toolResult: calls.some((call) => call.state === 'result' && readTemperature(call.result) === 18),
    toolError: calls.some((call) => call.state === 'output-error' && (call.errorText ?? '') !== ''),
    answer: runs.some((run) => answerText(run) === 'It is 18°C and rainy in Paris right now.'),
    answerDown: runs.some((run) => answerText(run) === 'Sorry, the weather service is down right now.'),
    model: runs.some((run) => run.models.some((model) => model.includes('gpt-4o-mini'))),
    usage:
      (sum('inputTokens') === 193 && sum('outputTokens') === 31) ||
      runs.some((run) => run.usage.inputTokens === 193 && run.usage.outputTokens === 31),
    session: runs.some((run) => run.sessionId === 'sess-1'),
    user: runs.some((run) => run.userId === 'user-9'),
    documents: DOCUMENTS.every((text) => documents.includes(text)),
  };
  return new Set(Object.keys(checks).filter((name) => checks[name]));
}

/** Lists invented facts: a value that the recording does not contain, or a value for a fact that it lacks. */
function inventedFacts(
  readings: readonly TraceReading[],
  absent: readonly string[],
  recording: string,
): string[] {
  const runs = readings.flatMap((reading) => reading.runs);
  const calls = runs.flatMap(invocations);
  const invented: Record<string, boolean> = {
    session: runs.some((run) => run.sessionId !== null && !recording.includes(run.sessionId)),
    user: runs.some((run) => run.userId !== null && !recording.includes(run.userId)),
    toolResult: calls.some((call) => call.state === 'result'),
    toolError: calls.some((call) => call.state === 'output-error'),
    history: listFacts(readings).has('history'),
    documents: runs.some((run) => run.documents.length > 0),
  };
  return absent.filter((name) => invented[name]);
}

/** Lists the differences between readings and the expectation of a case; empty when they agree. */
export function differences(
  readings: readonly TraceReading[],
  expected: ExpectedFacts,
  recording: string,
): string[] {
  const codes = readings.flatMap((reading) => [
    ...(reading.notScorable === null ? [] : [reading.notScorable.code]),
    ...reading.runs.flatMap((run) => (run.notScorable === null ? ['scorable'] : [run.notScorable.code])),
  ]);
  if (expected.notScorable !== undefined) {
    const allowed = [...expected.notScorable, 'no_agent_or_llm_span'];
    const said = codes.some((code) => expected.notScorable?.includes(code));
    return [
      ...codes.filter((code) => !allowed.includes(code as never)),
      ...(said ? [] : ['no reason given']),
    ];
  }
  const facts = listFacts(readings);
  return [
    ...(expected.present ?? []).filter((name) => !facts.has(name)).map((name) => `missing ${name}`),
    ...inventedFacts(readings, expected.absent ?? [], recording).map((name) => `invented ${name}`),
    ...(codes.includes('scorable') ? [] : ['nothing scorable']),
    ...readings.flatMap((reading) =>
      reading.runs.flatMap((run) => [...findRepeatedCalls(run), ...findRepeatedTexts(run)]),
    ),
  ];
}

/** Lists repeated tool calls. The story calls its tool once, also when a recording repeats its spans. */
function findRepeatedCalls(run: AgentRun): string[] {
  const calls = invocations(run).map((call) => `${call.toolName} ${JSON.stringify(call.args)}`);
  return calls.filter((call, index) => calls.indexOf(call) < index).map((call) => `second copy of ${call}`);
}

/** Lists texts that appear twice in the input or twice in the output of a run. */
function findRepeatedTexts(run: AgentRun): string[] {
  const { systemMessages, rememberedMessages, inputMessages } = run.input;
  const given = [
    ...systemMessages.map((message) => JSON.stringify(message.content)),
    ...[...rememberedMessages, ...inputMessages].map(textOfMessage),
  ];
  const gave = run.output.flatMap((message) =>
    message.content.parts.map((part) => (part.type === 'text' ? part['text'] : '')),
  );
  return [given, gave].flatMap((texts) =>
    texts
      .filter((text, index) => text.trim() !== '' && texts.indexOf(text) < index)
      .map((text) => `second copy of ${text}`),
  );
}

/** Reads the temperature from what the tool of the story returned; Gemini's interface has the text under `output`. */
function readTemperature(result: unknown): number | undefined {
  const { tempC, output } = (result ?? {}) as { tempC?: number; output?: unknown };
  return typeof output === 'string' ? readTemperature(JSON.parse(output)) : tempC;
}

/** Does the same as `differences` for multi-agent cases: top runs in order, then all sub-runs. */
export function runDifferences(readings: readonly TraceReading[], expected: ExpectedRuns): string[] {
  const top = readings.flatMap((reading) => reading.runs);
  const subs = top.flatMap(allSubRuns);
  const found: string[] = [];
  const compare = (runs: AgentRun[], wanted: ExpectedRun[], kind: 'top' | 'sub'): void => {
    if (runs.length !== wanted.length) {
      found.push(`${runs.length} ${kind} runs instead of ${wanted.length}`);
    }
    wanted.forEach((want, index) => {
      const run = runs[index];
      if (run !== undefined) {
        const readable = expected.usageReadable?.[kind];
        const adjusted = readable === undefined ? want : { ...want, usage: readable };
        found.push(
          ...compareRun(run, adjusted, readable !== undefined).map((text) => `${kind}[${index}] ${text}`),
        );
      }
    });
  };
  compare(top, expected.top, 'top');
  compare(subs, expected.sub, 'sub');
  return found;
}

function allSubRuns(run: AgentRun): AgentRun[] {
  return run.subRuns.flatMap((sub) => [sub, ...allSubRuns(sub)]);
}

function compareRun(run: AgentRun, want: ExpectedRun, partialUsage: boolean): string[] {
  const found: string[] = [];
  const differ: Differ = (name, actual, wanted) => {
    if (JSON.stringify(actual) !== JSON.stringify(wanted)) {
      found.push(`${name}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`);
    }
  };
  const isEnvelope = run.subRuns.length > 1 && want.system === null;
  if (want.agent !== 'envelope' && !isEnvelope) {
    differ('agent', run.agent, want.agent);
  }
  const system = run.input.systemMessages
    .map((message) =>
      typeof message.content === 'string'
        ? message.content
        : message.content.map((part) => part.text).join(''),
    )
    .join('\n');
  if (want.system === null ? system !== '' : !system.includes(want.system)) {
    found.push(`system: ${JSON.stringify(system)}`);
  }
  found.push(...compareInput(run, want));
  differ('answer', answerText(run) === '' ? null : answerText(run), want.answer);
  found.push(...compareTools(run, want));
  const own = isEnvelope ? formatUsage(run) : formatOwnUsage(run);
  differ('usage', own, want.usage);
  if (want.usageWithSubs !== undefined && !partialUsage) {
    differ('usageWithSubs', formatUsage(run), want.usageWithSubs);
  }
  if (want.session !== undefined) {
    differ('session', run.sessionId, want.session);
  }
  if (want.documents !== undefined) {
    const texts = run.documents.map((document) => document.content);
    differ(
      'documents',
      texts,
      want.documents.map((document) => document.text),
    );
  }
  if (want.error === null) {
    differ('error', run.error, null);
  }
  compareHistory(run, want, differ);
  return found;
}

type Differ = (name: string, actual: unknown, wanted: unknown) => void;

function compareHistory(run: AgentRun, want: ExpectedRun, differ: Differ): void {
  if (want.remembered !== undefined) {
    differ('remembered', run.input.rememberedMessages.length > 0, want.remembered.length > 0);
    const texts = run.input.rememberedMessages.map(textOfMessage).join('\n');
    for (const text of want.remembered.filter((one) => !one.startsWith('tool '))) {
      differ(`remembers ${text}`, texts.includes(text), true);
    }
    if (want.remembered.some((one) => one.startsWith('tool '))) {
      differ('remembered tools', invocationParts(run.input.rememberedMessages).length, 1);
    }
  } else {
    const history = run.input.rememberedMessages.map(textOfMessage);
    if (run.target.kind === 'trace') {
      differ('history of a first turn', history, []);
    }
  }
}

/**
 * Compares the input. Expected inputs have remarks in brackets and after a plus sign; the input must contain the text
 * before them.
 */
function compareInput(run: AgentRun, want: ExpectedRun): string[] {
  const text = run.input.inputMessages.map(textOfMessage).join('\n').trim();
  const [plain = ''] = want.input.split(/ \(| \+ | \/ | …|…/);
  const found = plain === want.input ? text === plain : text.includes(plain);
  const files = run.input.inputMessages.flatMap((message) =>
    message.content.parts.filter((part) => part.type === 'file'),
  );
  const wantsFile = want.input.includes('+ image');
  return [
    ...(found ? [] : [`input: ${JSON.stringify(text)} instead of ${JSON.stringify(want.input)}`]),
    ...(files.length === (wantsFile ? 1 : 0) ? [] : [`${files.length} files in the input`]),
  ];
}

function compareTools(run: AgentRun, want: ExpectedRun): string[] {
  const parts = invocationParts(run.output);
  const found =
    parts.length === want.tools.length ? [] : [`${parts.length} tools instead of ${want.tools.length}`];
  want.tools.forEach((tool, index) => {
    const part = parts[index];
    const call = part?.toolInvocation;
    const same =
      call?.toolName === tool.name &&
      JSON.stringify(call.args) === JSON.stringify(tool.args) &&
      call.state === 'result' &&
      sameResult(call.result, tool.result) &&
      (tool.handoffTo === undefined) === (part?.handoff !== true) &&
      (tool.subAgent === undefined || run.subRuns.some((sub) => sub.agent === tool.subAgent));
    if (!same) {
      found.push(`tool ${index}: ${JSON.stringify(part)} instead of ${JSON.stringify(tool)}`);
    }
  });
  return found;
}

/** Compares results by their text: one text block equals its text, and line ends do not count. */
function sameResult(actual: unknown, wanted: unknown): boolean {
  return JSON.stringify(plainResult(actual)) === JSON.stringify(plainResult(wanted));
}

/** Returns the plain text of a result that has blocks, documents or answers with a text. */
function plainResult(result: unknown): unknown {
  if (Array.isArray(result)) {
    const texts = result.map(plainResult);
    return texts.length === 1 ? texts[0] : texts;
  }
  const held = result as { text?: unknown; content?: unknown } | null;
  const text = typeof result === 'object' ? (held?.text ?? held?.content ?? result) : result;
  return typeof text === 'string' ? text.trim() : text;
}

function formatUsage(run: AgentRun): string {
  return `${run.usage.inputTokens}/${run.usage.outputTokens}`;
}

/** Formats the usage of a run's own calls: its usage minus that of its sub-runs. */
function formatOwnUsage(run: AgentRun): string {
  const less = (key: 'inputTokens' | 'outputTokens'): number =>
    run.subRuns.reduce((left, sub) => left - (sub.usage[key] ?? 0), run.usage[key] ?? 0);
  return `${less('inputTokens')}/${less('outputTokens')}`;
}
