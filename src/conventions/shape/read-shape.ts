import { isAgentKey } from '../advice/not-understood.ts';
import { listIn } from '../json.ts';
import { outcomeFacts, readDocuments, readOutcome } from '../messages/payloads.ts';
import { readSystem } from '../messages/read-messages.ts';
import type { NormalPart, SpanFacts, SpanRole } from '../normalised-span.ts';
import { type Candidates, collect, spokenIn } from './candidates.ts';
import { type Carrier, isProtocol, listCarriers, listMoments, type Moment } from './carriers.ts';
import {
  openArguments,
  openResult,
  readAnswered,
  readAsked,
  readCallList,
  splitCall,
  splitTurn,
} from './values.ts';
import { kindIn, type ShapeField, toldKind } from './words.ts';
import type { LogRecord, Span } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** A reading of one span by the form of its values. */
export interface ShapeReading {
  readonly facts: SpanFacts;
  /** Source of each fact, under the names of a mapping's fields. */
  readonly fields: Record<string, string>;
  /** Sources of equal certainty, by field; none of them was taken. */
  readonly ambiguous: Record<string, string[]>;
  /** True when more than the name of the span shows its kind. */
  readonly isSure: boolean;
}

/** Reads one span. `given`: its kind for conventions, whose keys then hold no content. `forced`: its kind by the spans around it. */
export function readShape(
  span: Span,
  logs: readonly LogRecord[],
  given?: SpanRole,
  forced?: SpanRole,
): ShapeReading {
  const isRead = (key: string): boolean => given === undefined || !(isAgentKey(key) || SHARED_KEY.test(key));
  const carriers = listCarriers(span, isRead);
  const moments = listMoments(span, logs, isRead);
  const said = collect(carriers);
  const shape = new Shape(span, said, collect(moments.flatMap((one) => [...one.carriers])));
  const { role, isSure } =
    forced === undefined && given === undefined
      ? findRole(span, carriers, said)
      : { role: forced ?? given, isSure: true };
  if (role === 'tool' || said.size + moments.length > 0) {
    shape.describe(role, moments);
  }
  return shape.result(role, isSure);
}

/** Keys without a platform's prefix that conventions read. */
const SHARED_KEY =
  /^(input|output|tool|agent|session|user|metadata|entity|graph|retrieval|embedding)([._]|$)/;

type Has = (...fields: ShapeField[]) => boolean;

interface Kind {
  readonly role: SpanRole | undefined;
  readonly isSure: boolean;
}

/** Finds what a span is: by the pair of a tool, by a key of its kind, by a model's name beside usage or texts, or by its own name. */
function findRole(span: Span, carriers: readonly Carrier[], said: Candidates): Kind {
  const has: Has = (...fields) => fields.some((field) => said.has(field));
  const told = carriers
    .map(({ words, text = '' }) => toldKind(words, text))
    .find((kind) => kind !== undefined);
  const isPair = has('tool.name') && has('tool.arguments', 'tool.result', 'in', 'out');
  if (isPair && !has(...COUNTS) && told !== 'llm' && told !== 'agent' && told !== 'retriever') {
    return { role: 'tool', isSure: true };
  }
  if (told !== undefined || carriers.some(({ value }) => isVectors(value))) {
    return { role: told ?? 'embedding', isSure: true };
  }
  const isUnnamed = said.size === 0 && [...span.attributes.keys()].some(isProtocol);
  return isUnnamed ? { role: undefined, isSure: false } : roleByName(span.name, has);
}

const COUNTS = ['usage.input', 'usage.output', 'usage.total'] as const;

function roleByName(name: string, has: Has): Kind {
  const named = HTTP_METHOD.test(name) ? undefined : kindIn(name);
  const isStep = named === 'agent' || named === 'container';
  const isCalled = has('model') && (has('in', 'out', 'provider') || named === 'llm');
  if (!isStep && (isCalled || has(...COUNTS))) {
    return { role: 'llm', isSure: true };
  }
  if (!isStep && named !== 'llm' && has('documents')) {
    return { role: 'retriever', isSure: true };
  }
  const role = named ?? (/(^|[ ._-])(execute|call)([ ._-]|$)/i.test(name) ? 'tool' : undefined);
  const isUsed = has('tool.arguments', 'tool.name', 'in') || TOOL_NAME.test(name);
  return { role: role === 'tool' && !isUsed ? undefined : role, isSure: false };
}

const TOOL_NAME = /^(execute|call|invoke|run|mcp)?[ ._:-]*tool([ ._:-]?(call|use))?[ .:/-]+\S+/i;
const HTTP_METHOD = /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)( |$)/;

function isVectors(value: unknown): boolean {
  const [first] = listIn(value);
  const numbers = listIn(Array.isArray(first) ? first : value);
  return numbers.length >= 8 && numbers.every((one) => typeof one === 'number');
}

class Shape {
  readonly #span: Span;
  readonly #said: Candidates;
  readonly #told: Candidates;
  readonly #facts: SpanFacts = {};
  readonly #fields: Record<string, string> = {};
  readonly #ambiguous: Record<string, string[]> = {};

  constructor(span: Span, said: Candidates, told: Candidates) {
    this.#span = span;
    this.#said = said;
    this.#told = told;
  }

  result(role: SpanRole | undefined, isSure: boolean): ShapeReading {
    return { facts: { ...this.#facts, role }, fields: this.#fields, ambiguous: this.#ambiguous, isSure };
  }

  describe(role: SpanRole | undefined, moments: readonly Moment[]): void {
    const facts = this.#facts;
    facts.session = this.#text('session', 'session');
    facts.user = this.#text('user', 'user');
    if (role === 'embedding') {
      return;
    }
    if (role === 'tool') {
      this.#describeTool(moments);
      return;
    }
    facts.agent = role === 'llm' || role === 'retriever' ? undefined : this.#text('agent', 'agent');
    facts.agentVersion = this.#text('agentVersion', 'agentVersion');
    if (role === 'retriever') {
      const found = this.#take('documents', 'documents', 'out', 'tool.result');
      facts.documents = found === undefined ? undefined : readDocuments(found.value);
      return;
    }
    facts.model = this.#text('model', 'model');
    facts.provider = this.#text('provider', 'provider');
    facts.usage = {
      inputTokens: this.#count('usage.input'),
      outputTokens: this.#count('usage.output'),
      totalTokens: this.#count('usage.total'),
      cachedInputTokens: this.#count('usage.cached'),
      reasoningTokens: this.#count('usage.reasoning'),
    };
    this.#describeTexts(role, moments);
  }

  #describeTool(moments: readonly Moment[]): void {
    const facts = this.#facts;
    const named = this.#text('tool.name', 'tool.name');
    facts.toolName = named ?? this.#text('tool.name', 'name') ?? nameOfTool(this.#span.name);
    facts.toolCallId = this.#text('tool.callId', 'tool.callId');
    const args = this.#take('tool.arguments', 'tool.arguments', 'in');
    if (args !== undefined) {
      facts.toolArgs = openArguments(args.value, facts.toolName);
    }
    const result = this.#take('tool.result', 'tool.result', 'out', 'documents');
    if (result !== undefined) {
      this.#setResult(result.value);
    }
    this.#addToolMoments(moments);
    const error = this.#take('error', 'error');
    if (error !== undefined && (this.#span.statusCode === 'Error' || facts.toolResult === undefined)) {
      facts.error = { type: null, message: textOrUndefined(error.value) ?? error.text ?? null };
    }
  }

  #setResult(value: unknown): void {
    const { toolResult, error } = outcomeFacts(readOutcome(openResult(value)));
    this.#facts.toolResult = toolResult;
    this.#facts.error = error;
  }

  /** Adds what events of a tool's span say: what the model sent to it, then what it answered. */
  #addToolMoments(moments: readonly Moment[]): void {
    const facts = this.#facts;
    for (const { source, value: sent, messages } of moments.flatMap(spokenIn)) {
      const [message] = messages;
      const [part] = message?.parts ?? [];
      if (message === undefined || part?.type === 'tool-call') {
        continue;
      }
      const value = part?.type === 'tool-result' ? part.result : sent;
      if (message.role === 'assistant' && facts.toolResult === undefined) {
        this.#setResult(value);
        this.#fields['tool.result'] = source;
      } else if (message.role !== 'assistant' && facts.toolArgs === undefined && isRecord(value)) {
        facts.toolArgs = openArguments(value, facts.toolName);
        this.#fields['tool.arguments'] = source;
      }
    }
  }

  #describeTexts(role: SpanRole | undefined, moments: readonly Moment[]): void {
    const facts = this.#facts;
    const split = role === 'llm' ? splitCall : splitTurn;
    this.#describeSent(role, split, this.#said);
    this.#addToldCalls(role, moments);
    if (facts.input === undefined || facts.output === undefined) {
      this.#addSpoken(moments, split);
    }
    if (facts.input === undefined || facts.output === undefined) {
      this.#describeSent(role, split, this.#told);
    }
  }

  /** Adds the calls that events tell beside question and answer of a run, or of a loop that hides its model calls. */
  #addToldCalls(role: SpanRole | undefined, moments: readonly Moment[]): void {
    const { input, output } = this.#facts;
    if (output === undefined || moments.length === 0 || !output.every(({ type }) => type === 'text')) {
      return;
    }
    const parts = moments.flatMap(spokenIn).flatMap(({ messages }) => messages.flatMap((one) => one.parts));
    const hasResult = (list: readonly NormalPart[]): boolean =>
      list.some(({ type }) => type === 'tool-result');
    if (role !== 'llm' || (hasResult(parts) && !hasResult((input ?? []).flatMap((one) => one.parts)))) {
      output.unshift(...parts.filter(({ type }) => type === 'tool-call' || type === 'tool-result'));
    }
  }

  /** Reads the values that are not read yet; a list with question and answer has both. */
  #describeSent(role: SpanRole | undefined, split: typeof splitCall, found: Candidates): void {
    const facts = this.#facts;
    const isRun = role !== 'llm';
    const asked =
      facts.input === undefined
        ? this.#takeFrom(found, 'input', ASKED[isRun ? 'run' : 'call'], isAsked)
        : undefined;
    const answered =
      facts.output === undefined
        ? this.#takeFrom(found, 'output', ['out', 'tool.result'], isAnswered)
        : undefined;
    const system = facts.system === undefined ? this.#takeFrom(found, 'system', ['system']) : undefined;
    if (system !== undefined) {
      facts.system = readSystem(system.value);
    }
    const given = asked === undefined ? {} : readAsked(asked.value, asked.text);
    facts.system ??= given.system;
    facts.input ??= given.input;
    facts.output ??= answered === undefined ? undefined : readAnswered(answered.value, answered.text);
    this.#addCalls(found);
    this.#cutAnswer(split(given.input ?? []));
  }

  #cutAnswer({ input, output }: ReturnType<typeof splitCall>): void {
    if (this.#facts.output === undefined && input.length > 0 && output.length > 0) {
      this.#facts.input = input;
      this.#facts.output = output;
      this.#fields['output'] = this.#fields['input'] ?? '';
    }
  }

  #addCalls(found: Candidates): void {
    const output = this.#facts.output ?? [];
    const source = this.#fields['output'];
    const calls = output.some(({ type }) => type === 'tool-call')
      ? undefined
      : this.#takeFrom(found, 'tool.name', ['calls']);
    if (calls !== undefined) {
      this.#facts.output = [...output, ...readCallList(calls.value)];
      this.#fields['output'] = source ?? calls.source;
    }
  }

  /** Adds what events and records say, message by message. */
  #addSpoken(moments: readonly Moment[], split: typeof splitCall): void {
    const all = moments.flatMap(spokenIn);
    const whole = all.filter(({ isChunk }) => !isChunk);
    const isWhole = whole.some(({ messages }) => messages.some(({ role }) => role === 'assistant'));
    const spoken = isWhole ? whole : all;
    const { input, output } = split(spoken.flatMap(({ messages }) => messages));
    const lastBy = (...roles: string[]): string =>
      spoken.findLast(({ messages }) => messages.some(({ role }) => roles.includes(role)))?.source ?? '';
    if (this.#facts.input === undefined && input.length > 0) {
      this.#facts.input = input;
      this.#fields['input'] = lastBy('user', 'system', 'tool');
      delete this.#ambiguous['input'];
    }
    if (this.#facts.output === undefined && output.length > 0) {
      this.#facts.output = output;
      this.#fields['output'] = lastBy('assistant') || lastBy('tool');
      delete this.#ambiguous['output'];
    }
  }

  /** Takes the most certain value: of the attributes, else of events and records. Two that are equally certain: none. */
  #take(name: string, ...fields: readonly ShapeField[]): Carrier | undefined {
    return this.#takeFrom(this.#said, name, fields) ?? this.#takeFrom(this.#told, name, fields);
  }

  #takeFrom(
    found: Candidates,
    name: string,
    fields: readonly ShapeField[],
    accepts: (carrier: Carrier) => boolean = () => true,
  ): Carrier | undefined {
    const lists = fields.map((field) => (found.get(field) ?? []).filter(({ carrier }) => accepts(carrier)));
    const candidates = lists.find((list) => list.length > 0) ?? [];
    const most = Math.max(...candidates.map(({ certainty }) => certainty));
    const best = candidates.filter(({ certainty }) => certainty === most);
    const [first] = best;
    const values = new Set(best.map(({ carrier }) => carrier.text ?? JSON.stringify(carrier.value)));
    if (first === undefined || values.size > 1) {
      if (values.size > 1) {
        this.#ambiguous[name] = best.map(({ carrier }) => carrier.source);
      }
      return undefined;
    }
    this.#fields[name] = first.carrier.source;
    return first.carrier;
  }

  #text(name: string, field: ShapeField): string | undefined {
    const found = this.#take(name, field);
    return textOrUndefined(found?.value) ?? found?.text;
  }

  #count(field: ShapeField): number | null {
    const found = this.#take(field, field);
    return found === undefined ? null : Number(found.value);
  }
}

/** Finds the tool in the name of a span: `execute_tool find`, `tool: find`, `find`. */
export function nameOfTool(name: string): string {
  return /^(?:.*[\s:/])?([\w.-]+?)(?:\.tool)?$/.exec(name.trim())?.[1] ?? name;
}

/** True for a value with a question; an object without any is only about a request. */
function isAsked({ value, text }: Carrier): boolean {
  return (readAsked(value, text).input?.length ?? 0) > 0;
}

function isAnswered({ value, text }: Carrier): boolean {
  return (readAnswered(value, text)?.length ?? 0) > 0;
}

/** Fields in which the question of a run and of a model call may be. */
const ASKED = { run: ['in', 'tool.arguments'], call: ['in'] } as const;
