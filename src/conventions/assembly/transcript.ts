import { InputCalls, type IsElsewhere, listOwnParts } from './asked-calls.ts';
import { type Call, CallIndex, createCall, settle } from './call-index.ts';
import type { SpanNode } from './span-tree.ts';
import { messageKey, type SplitInput, splitInput } from './run-plan.ts';
import type { CallPart, NormalMessage, NormalPart } from '../normalised-span.ts';
import type { Steps } from '../steps.ts';
import { canonicalJson } from '../../domain/identity.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Most spans between a model call and a tool inside it. */
const MAX_LEVELS = 8;

export type Entry =
  | { kind: 'part'; part: Exclude<NormalPart, { type: 'tool-call' } | { type: 'tool-result' }> }
  | { kind: 'call'; call: Call };

/** A part of the run's output: from one model call, from one tool span that no model requested, or from a member. */
export interface Block {
  /** Position among the spans of the trace. */
  order: number;
  isModelCall: boolean;
  entries: Entry[];
}

export interface Transcript {
  blocks: Block[];
  calls: CallIndex;
  blockByCall: Map<Call, Block>;
}

interface TranscriptSources {
  llms: readonly SpanNode[];
  tools: readonly SpanNode[];
  /** Position of the run's root among the spans of the trace. */
  rootOrder: number;
  /** Output of the agent span, in order. */
  agentOutput: readonly NormalPart[];
  isElsewhere: IsElsewhere;
}

/** Builds the output of the run in order: texts and tool calls, with the result of each call. One model call per step. */
export function* buildTranscript(sources: TranscriptSources): Steps<Transcript> {
  const transcript: Transcript = { blocks: [], calls: new CallIndex(), blockByCall: new Map() };
  const inputs = sources.llms.map((llm) => splitInput(llm.facts.input));
  const first = inputs[0]?.inFlight ?? [];
  addBlock(
    transcript,
    sources.llms[0]?.order ?? 0,
    false,
    listOwnParts(listParts(first), sources.isElsewhere),
  );
  for (const llm of answering(sources.llms)) {
    addBlock(transcript, llm.order, true, llm.facts.output ?? []);
    yield;
  }
  if (!transcript.blocks.some((block) => block.isModelCall)) {
    addBlock(transcript, ownOrder(sources), true, sources.agentOutput);
  }
  addTools(transcript, sources.tools);
  yield;
  yield* recoverFromInputs(transcript, sources, inputs);
  for (const part of sources.agentOutput) {
    if (part.type === 'tool-result') {
      transcript.calls.settleById(part);
    }
  }
  return transcript;
}

/** Finds the place of the output of an agent without model calls: an output without calls is the answer, after all tools. */
function ownOrder({ agentOutput, tools, rootOrder }: TranscriptSources): number {
  const isAnswer = agentOutput.every((part) => part.type !== 'tool-call' && part.type !== 'tool-result');
  return isAnswer ? Math.max(rootOrder, (tools.at(-1)?.order ?? 0) + 0.25) : rootOrder;
}

/** Lists the model calls that count: not a failed or stopped one that was retried. The last may have given part of the answer. */
function answering(llms: readonly SpanNode[]): readonly SpanNode[] {
  return llms.filter(
    ({ facts }, index) => (facts.error ?? facts.halt) === undefined || index === llms.length - 1,
  );
}

function addBlock(
  transcript: Transcript,
  order: number,
  isModelCall: boolean,
  parts: readonly NormalPart[],
): void {
  const entries: Entry[] = [];
  for (const part of parts) {
    if (part.type === 'tool-call') {
      const isKnown = isModelCall && transcript.calls.find(part)?.fromInput === true;
      if (!isKnown || transcript.calls.equalTo(part)[0]?.fromInput !== true) {
        const call = { ...createCall(part), fromInput: !isModelCall };
        entries.push({ kind: 'call', call: transcript.calls.add(call) });
      }
    } else if (part.type !== 'tool-result') {
      entries.push({ kind: 'part', part });
    } else {
      // A result whose call is nowhere in the run is of an earlier turn, and no evidence.
      transcript.calls.settleNext(part);
    }
  }
  pushBlock(transcript, { order, isModelCall, entries });
}

function pushBlock(transcript: Transcript, block: Block): void {
  if (block.entries.length === 0) {
    return;
  }
  transcript.blocks.push(block);
  for (const entry of block.entries) {
    if (entry.kind === 'call') {
      transcript.blockByCall.set(entry.call, block);
    }
  }
}

function listParts(messages: SplitInput['inFlight']): NormalPart[] {
  return messages.flatMap((message) => message.parts);
}

/** Adds each tool span to the call that requested it, else as a call of its own. Of a tool that stopped and ran again, the later span counts. */
function addTools(transcript: Transcript, tools: readonly SpanNode[]): void {
  const [ran, stopped] = [false, true].map((isStopped) =>
    tools.filter(({ facts }) => (facts.halt !== undefined) === isStopped),
  );
  for (const [tool, call] of transcript.calls.match([...(ran ?? []), ...(stopped ?? [])])) {
    if (call === undefined) {
      const { toolCallId, toolName, toolArgs, halt } = tool.facts;
      const asked: CallPart = {
        type: 'tool-call',
        id: toolCallId ?? null,
        name: toolName ?? tool.span.name,
        args: toolArgs ?? null,
      };
      if (halt !== undefined && transcript.calls.find(asked) !== undefined) {
        continue;
      }
      const unasked = createCall(asked);
      unasked.span = tool;
      transcript.calls.add(unasked);
      pushBlock(transcript, {
        order: placeOfTool(tool),
        isModelCall: false,
        entries: [{ kind: 'call', call: unasked }],
      });
    }
  }
  for (const call of transcript.calls.all) {
    settleFromSpan(call);
  }
}

/** Finds the place of a tool that no model requested. Inside a model call it ran before the answer of that call. */
function placeOfTool(tool: SpanNode): number {
  let above = tool.parent;
  for (let level = 0; level < MAX_LEVELS && above !== null; level++) {
    if (above.role === 'llm') {
      return above.order - 0.5;
    }
    above = above.parent;
  }
  return tool.order;
}

function settleFromSpan(call: Call): void {
  const facts = call.span?.facts;
  if (facts === undefined) {
    return;
  }
  if (isWider(facts.toolArgs, call.args)) {
    call.args = facts.toolArgs;
  }
  if (facts.error !== undefined) {
    call.state = 'error';
    const said = typeof facts.toolResult === 'string' ? facts.toolResult : null;
    call.errorText = facts.error.message ?? said ?? facts.error.type ?? 'the tool failed';
    call.vague = (facts.error.message ?? said) === null;
  } else if (facts.toolResult !== undefined) {
    settle(call, { result: facts.toolResult });
  }
}

/** True when the tool ran with all arguments of the model and more (ids that the framework adds), or when the model's are unknown. */
function isWider(ran: unknown, asked: unknown): boolean {
  if (!isRecord(ran) || !isRecord(asked)) {
    return asked === null || asked === undefined;
  }
  const isSame = ([key, value]: [string, unknown]): boolean =>
    Object.hasOwn(ran, key) && canonicalJson(ran[key] ?? null) === canonicalJson(value ?? null);
  return Object.keys(ran).length > Object.keys(asked).length && Object.entries(asked).every(isSame);
}

/** Recovers from later inputs, which repeat earlier parts: results without a tool span, and calls and reasoning that the outputs lack. */
function* recoverFromInputs(
  transcript: Transcript,
  sources: TranscriptSources,
  inputs: readonly SplitInput[],
): Steps<void> {
  // Counted, because ids may begin anew in each step: then a later message has the key of an earlier one.
  const known = new Map<string, number>();
  for (const key of inputs[0]?.inFlight.map((message) => keyInTurn(message, inputs[0])) ?? []) {
    known.set(key, (known.get(key) ?? 0) + 1);
  }
  const looked = new Set(inputs.slice(0, 1));
  for (const [index, llm] of sources.llms.entries()) {
    yield;
    const input = inputs[index];
    if (input === undefined || looked.has(input)) {
      continue;
    }
    looked.add(input);
    const findRepeated = createRepeatFinder(transcript.calls, input.inFlight);
    const read = new InputCalls(transcript.calls);
    const own = new Set(listOwnParts(listParts(input.inFlight), sources.isElsewhere));
    const seen = new Map<string, number>();
    for (const message of input.inFlight) {
      const key = keyInTurn(message, input);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      const parts = message.parts.filter((part) => own.has(part));
      if (count > (known.get(key) ?? 0)) {
        known.set(key, count);
        restoreParts(transcript, parts, { before: llm.order, findRepeated, read });
      } else {
        skipParts(parts, read);
      }
    }
  }
}

/** Computes the key of a message. Results that a model receives without the question are new ones, also under an id that occurred before. */
function keyInTurn(message: NormalMessage, input: SplitInput | undefined): string {
  const results = input?.turn.length === 0 ? message.parts.filter((part) => part.type === 'tool-result') : [];
  return messageKey(message) + results.map(({ result }) => canonicalJson(result ?? null)).join('');
}

function skipParts(parts: readonly NormalPart[], read: InputCalls): void {
  for (const part of parts) {
    const call = part.type === 'tool-call' ? read.find(part) : undefined;
    if (part.type === 'tool-call' && call !== undefined) {
      read.open(part, call);
    } else if (part.type === 'tool-result') {
      read.close(part);
    }
  }
}

/**
 * Creates a function that finds the call which a part repeats under an id that no model requested: an equal call, each taken
 * once, so that a real second call with equal arguments stays. The call is known under both ids from there on. The list is
 * searched when the first such part comes.
 */
function createRepeatFinder(
  calls: CallIndex,
  messages: SplitInput['inFlight'],
): (part: CallPart) => Call | undefined {
  let repeats: ReadonlyMap<NormalPart, Call> | undefined;
  return (part) => {
    repeats ??= calls.matchRepeats(
      messages.flatMap((message) => message.parts).filter((one) => one.type === 'tool-call'),
    );
    const call = repeats.get(part);
    if (call !== undefined && part.id !== null) {
      calls.addName(call, part.id);
    }
    return call;
  };
}

interface Restoring {
  /** Position of the model call that received the parts. */
  before: number;
  findRepeated: (part: CallPart) => Call | undefined;
  read: InputCalls;
}

function restoreParts(
  transcript: Transcript,
  parts: readonly NormalPart[],
  { before, findRepeated, read }: Restoring,
): void {
  const reasoning = parts.filter((part) => part.type === 'reasoning');
  for (const part of parts) {
    if (part.type === 'tool-result') {
      read.settle(part);
    } else if (part.type === 'tool-call') {
      const known = read.find(part) ?? findRepeated(part);
      if (known === undefined) {
        addBlock(transcript, before - 0.5, false, [part]);
      }
      const call = known ?? transcript.calls.all.at(-1);
      const block = known === undefined ? undefined : transcript.blockByCall.get(known);
      if (call !== undefined) {
        read.open(part, call);
      }
      if (reasoning.length > 0 && block !== undefined && !block.entries.some(isReasoning)) {
        block.entries = [...reasoning.map((item): Entry => ({ kind: 'part', part: item })), ...block.entries];
      }
    }
  }
}

function isReasoning(entry: Entry): boolean {
  return entry.kind === 'part' && entry.part.type === 'reasoning';
}

/** Adds the final text of the agent, when nothing in the transcript says it. */
export function addFinalAnswer(transcript: Transcript, agentOutput: readonly NormalPart[]): void {
  const answer = finalText(agentOutput);
  const said = transcript.blocks.flatMap((block) => block.entries);
  const known = new Set(
    said.map((entry) =>
      entry.kind === 'part' && entry.part.type === 'text' ? comparable(entry.part.text) : '',
    ),
  );
  known.add(comparable(readAnswer(transcript)));
  if (answer !== '' && !known.has(comparable(answer))) {
    const last = transcript.blocks.at(-1)?.order ?? 0;
    transcript.blocks.push({
      order: last + 0.25,
      isModelCall: false,
      entries: [{ kind: 'part', part: { type: 'text', text: answer } }],
    });
  }
}

/** Returns the text after the last call and result: the answer in these parts. */
export function finalText(parts: readonly NormalPart[]): string {
  const lastTool = parts.findLastIndex((part) => part.type === 'tool-call' || part.type === 'tool-result');
  return parts
    .slice(lastTool + 1)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

export function readAnswer(transcript: Transcript): string {
  for (const block of transcript.blocks.toReversed()) {
    const text = finalText(
      block.entries.map((entry) => (entry.kind === 'part' ? entry.part : entry.call.asked)),
    );
    if (text !== '') {
      return text;
    }
  }
  return '';
}

/** Normalises a text: texts that differ in blanks only, or JSON texts that differ in layout only, are the same answer. */
export function comparable(text: string): string {
  const trimmed = text.trim();
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    return trimmed.replace(/\s+/g, '');
  }
  return trimmed;
}
