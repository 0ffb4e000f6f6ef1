import { readFileSync } from 'node:fs';
import { readTraces } from '../../../../src/conventions/index.ts';
import type { AgentRun } from '../../../../src/domain/trace/agent-run.ts';
import { answerText, invocationParts, textOfMessage } from '../facts.ts';
import { recordedSpans } from '../recorded-spans.ts';

/** Compared part of a run. Other tests compare the rest of the run with its expectation. */
interface Look {
  agent: string | null;
  system: string;
  input: string;
  remembered: number;
  /** Names of tools. A failed call has `!`, a transfer `>`, a call without an outcome `?`. */
  tools: string[];
  answer: string;
  usage: string;
  session: string | null;
  user: string | null;
  models: string[];
  documents: number;
  status: string;
  notScorable: string | null;
  warnings: string[];
  parts: string;
  subs: Look[];
}

const MARKS = { result: '', call: '?', 'output-error': '!', 'output-denied': '-' } as Record<string, string>;

function look(run: AgentRun): Look {
  return {
    agent: run.agent,
    system: run.input.systemMessages
      .map(({ content }) =>
        typeof content === 'string' ? content : content.map((part) => part.text).join(''),
      )
      .join('\n'),
    input: run.input.inputMessages.map(textOfMessage).join('\n').trim(),
    remembered: run.input.rememberedMessages.length,
    tools: invocationParts(run.output).map(
      ({ toolInvocation: call, handoff }) =>
        `${call.toolName}${handoff === true ? '>' : (MARKS[call.state] ?? call.state)}`,
    ),
    answer: answerText(run),
    usage: `${run.usage.inputTokens}/${run.usage.outputTokens}`,
    session: run.sessionId,
    user: run.userId,
    models: run.models,
    documents: run.documents.length,
    status: run.status,
    notScorable: run.notScorable?.code ?? null,
    warnings: [...new Set(run.warnings.map(({ code }) => code))],
    parts: run.output.flatMap((message) => message.content.parts.map((part) => part.type)).join(' '),
    subs: run.subRuns.map(look),
  };
}

function listRuns(folder: 'spans' | 'spans-multi', name: string): Look[] {
  return readTraces(recordedSpans(folder, name)).flatMap(({ runs }) => runs.map(look));
}

/** Reads a case from `spans-spec`: spans from other recorders, or spans made from a description. */
export function described(name: string): Look[] {
  const url = new URL(`../../../fixtures/spans-spec/${name}.traces.jsonl`, import.meta.url);
  return readTraces(readFileSync(url, 'utf8')).flatMap(({ runs }) => runs.map(look));
}

export const several = (name: string): Look[] => listRuns('spans-multi', name);
export const single = (name: string): Look[] => listRuns('spans', name);

export const PARIS = 'What is the weather in Paris?';
export const PLAN = 'Plan a day in Paris.';
export const LOUVRE = 'Visit the Louvre: it is 18°C and rainy in Paris.';
export const RAINY = 'It is 18°C and rainy in Paris right now.';
export const WEATHER = { agent: 'weather_agent', input: PARIS, tools: ['get_weather'] };
export const PLANNER = { agent: 'travel_planner', input: PLAN, answer: LOUVRE, subs: [WEATHER] };
export const TRANSFER = ['transfer_to_weather_agent>', 'get_weather'];
export const HANDOFF = { input: PARIS, tools: TRANSFER, answer: RAINY, usage: '243/39' };
export const TURNS = [
  { input: PARIS, remembered: 0 },
  { input: 'And in London?', remembered: 2 },
];
export const ANSWERED = { input: PARIS, tools: ['get_weather'], answer: RAINY, usage: '193/31' };

/** Fact: its number or place, a function that reads the runs, and the expected runs. */
export type Fact = [fact: string, runs: () => unknown[], expected: unknown[]];

/** Expects the same runs in each of these recordings. */
export function each(expected: object, ...names: string[]): [() => unknown[], unknown[]] {
  return [() => names.flatMap(single), names.map(() => expected)];
}

/** The same story after an earlier conversation. */
export const REMEMBERED = { ...ANSWERED, remembered: 2 };
export const SILENT = { notScorable: 'no_content_captured' };
export const BOTH = { session: 'sess-1', user: 'user-9' };
export const NEITHER = { session: null, user: null };
