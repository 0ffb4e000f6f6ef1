import type { Span, TraceData } from '../../src/domain/trace/span.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  buildSpan,
  toolCall,
  toolResponse,
  toolSpan,
  buildTrace,
} from '../support/builders/spans.ts';

/** A kind of trace that can be made of any size. */
export interface GrownTrace {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Exactly so many spans. */
  readonly make: (spans: number) => TraceData;
}

const SIZES = [10, 100, 1_000, 10_000, 100_000];
const QUESTION = chatMessage('user', 'How warm is it in all of these cities?');
const SYSTEM = [{ type: 'text', content: 'You are a weather assistant.' }];
const MS_PER_SPAN = 20;

function asks(index: number): unknown {
  return chatMessage('assistant', toolCall(`call_${index}`, 'get_weather', { city: `City ${index}` }));
}

function answers(index: number): unknown {
  return chatMessage(
    'tool',
    toolResponse(`call_${index}`, { city: `City ${index}`, tempC: 18, sky: 'rain' }),
  );
}

function chat(index: number, input: unknown[], output: unknown, parent: string): Span {
  const attributes = {
    'gen_ai.system_instructions': SYSTEM,
    'gen_ai.usage.input_tokens': '81',
    'gen_ai.usage.output_tokens': '17',
  };
  const at = index * MS_PER_SPAN;
  return chatSpan(`chat ${index}`, { input, output: [output], attributes }, { parent, at });
}

function tool(index: number, parent: string): Span {
  const call = {
    id: `call_${index}`,
    name: 'get_weather',
    args: { city: `City ${index}` },
    result: { city: `City ${index}`, tempC: 18, sky: 'rain' },
  };
  return toolSpan(`tool ${index}`, call, { parent, at: index * MS_PER_SPAN + 10 });
}

function agent(name: string, parent: string | undefined, at: number, lasts: number): Span {
  return agentSpan(name, {}, { at, lasts, ...(parent === undefined ? {} : { parent }) });
}

/** One agent that calls its model and a tool in turn; a call brings all messages so far, or only the new ones. */
function longRun(size: number, repeats: boolean): TraceData {
  const spans = [agent('weather', undefined, 0, size * MS_PER_SPAN)];
  const turns: unknown[] = [QUESTION];
  for (let index = 0; spans.length < size; index += 1) {
    const last = spans.length >= size - 2;
    const output = last ? chatMessage('assistant', 'It is 18 degrees everywhere.') : asks(index);
    spans.push(chat(index, repeats ? [...turns] : turns.slice(-2), output, 'weather'));
    if (spans.length < size) {
      spans.push(tool(index, 'weather'));
      turns.push(asks(index), answers(index));
    }
  }
  return buildTrace(spans);
}

/** Agents within agents, each with one model call: half as deep as it has spans. */
function nestedAgents(size: number): TraceData {
  const spans: Span[] = [];
  for (let index = 0; spans.length < size; index += 1) {
    const parent = index === 0 ? undefined : `agent ${index - 1}`;
    spans.push(agent(`agent ${index}`, parent, index, (size - index) * MS_PER_SPAN));
    if (spans.length < size) {
      spans.push(chat(index, [QUESTION], chatMessage('assistant', `Answer ${index}`), `agent ${index}`));
    }
  }
  return buildTrace(spans);
}

/** Runs side by side below one request that is no agent's. */
function manyRuns(size: number): TraceData {
  const spans = [buildSpan('POST /ask', {}, { lasts: size * MS_PER_SPAN })];
  for (let index = 0; spans.length < size; index += 1) {
    const name = `agent ${index}`;
    const run = [
      agent(name, 'POST /ask', index * MS_PER_SPAN, MS_PER_SPAN),
      chat(index, [QUESTION], chatMessage('assistant', `Answer ${index}`), name),
      tool(index, name),
    ];
    spans.push(...run.slice(0, size - spans.length));
  }
  return buildTrace(spans);
}

export const GROWN_TRACES: readonly GrownTrace[] = [
  { name: 'one long run', sizes: SIZES, make: (size) => longRun(size, false) },
  // Its bytes grow with the square of its spans: 10,000 spans would be a gigabyte, which no store reads at once.
  { name: 'one long run, history repeated', sizes: [10, 100, 1_000], make: (size) => longRun(size, true) },
  { name: 'agents within agents', sizes: SIZES, make: nestedAgents },
  { name: 'runs side by side', sizes: SIZES, make: manyRuns },
];
