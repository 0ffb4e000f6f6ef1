import { contentAdvice } from './advice/content-switches.ts';
import { restoreContent } from './advice/moved-content.ts';
import {
  findFirst,
  isId,
  isModelName,
  readText,
  findFinishReason,
  OUTPUT_KEYS,
  partsAmong,
} from './attributes.ts';
import { STUB_MARK } from './kept-content.ts';
import { bindResults, listToolTexts } from './messages/read-messages.ts';
import { failureIn, openFinalAnswer } from './messages/part-reader.ts';
import type { Convention, NormalisedSpan, SpanError, SpanFacts, SpanView } from './normalised-span.ts';
import {
  CONTENT_FIELDS,
  isSaid,
  listHiddenFields,
  removePlaceholders,
  type Revealed,
} from './placeholders.ts';
import { CONVENTIONS } from './registry.ts';
import { nameOfTool } from './shape/read-shape.ts';
import type { ReadingWarning } from '../domain/trace/agent-run.ts';
import { BUILT_IN_CONVENTIONS } from '../domain/trace/convention-table.ts';
import { readErrorHalt, readFinishHalt, readHalt } from '../domain/trace/halt.ts';
import { type LogRecord, OWN_SCOPE, type Span } from '../domain/trace/span.ts';

/** Longest error text that is kept, in UTF-16 units; some emitters put a whole stack trace there. */
const MAX_ERROR_CHARS = 2_000;

/** Function that is told what each convention states of a span. */
export type Observe = (convention: string, facts: SpanFacts, view: SpanView) => void;

/**
 * Reads one span with every convention that recognises it. Facts add up: a later convention does not change the facts of an earlier
 * one. What the span is comes first from those that read content of it, so that no convention hides the content of another.
 * The user's own conventions always come first.
 */
export function normaliseSpan(
  sent: Span,
  records: readonly LogRecord[],
  list: readonly Convention[] = CONVENTIONS,
  observe?: Observe,
): NormalisedSpan {
  const { span, logs } = restoreContent(sent, records);
  const warnings: ReadingWarning[] = [];
  const conventions = new Map<string, number>();
  if (isEvaluationSpan(span)) {
    return { span, facts: { role: 'evaluation' }, conventions, warnings };
  }
  const view: SpanView = { span, logs, warnings };
  const placeholders: Revealed[] = [];
  const facts: SpanFacts = {};
  let own = NO_FACTS;
  for (const convention of list.filter((one) => one.detect(view))) {
    const shown = removePlaceholders(without(withIds(convention.read(view)), facts.withheld));
    observe?.(convention.name, shown.facts, view);
    const given = fillGaps(facts, shown.facts) + shown.hidden.size;
    placeholders.push(shown);
    if (given > 0) {
      conventions.set(convention.name, given);
    }
    own = BUILT_IN_CONVENTIONS.has(convention.name) ? own : { ...facts };
  }
  Object.assign(facts, describe(placeholders, span), kindOf(own, span));
  completeFacts(facts, view, conventions.size > 0);
  facts.input = facts.input && bindResults(facts.input);
  facts.hidden = listHiddenFields(facts, placeholders);
  if (facts.hidden !== undefined) {
    const detail = `placeholders stand in place of ${[...facts.hidden.keys()].join(', ')}; ${contentAdvice([{ span, conventions }])}`;
    warnings.push({ code: 'redacted', spanId: span.spanId, detail });
  }
  if (conventions.size > 0) {
    warnings.push(...listLosses(span));
  }
  return { span, facts, conventions, warnings };
}

/** Facts of the user's tables, when there is no table. */
const NO_FACTS: SpanFacts = {};

/** Facts that are content, and what the span is. */
const CONTENT_FACTS = [...CONTENT_FIELDS, 'withheld'] as const;
const KIND_FACTS = ['role', 'agent', 'toolName', 'stateOf'] as const;

/** Returns what the user's tables say that the span is, or what it is by the facts that they give. */
function kindOf(own: SpanFacts, span: Span): SpanFacts {
  if (own === NO_FACTS) {
    return own;
  }
  const role = own.role ?? roleByFacts(own);
  const toolName = own.role === 'tool' ? (own.toolName ?? nameOfTool(span.name)) : own.toolName;
  const said = KIND_FACTS.map((key) => [key, { ...own, role, toolName }[key]]);
  return Object.fromEntries(said.filter(([, value]) => value !== undefined));
}

/** Finds what the span is: as the conventions say that read content, then as the others do; a step or the span's name is a guess. */
function describe(given: readonly Revealed[], span: Span): SpanFacts {
  if (given.length < 2) {
    return {};
  }
  const rank = ({ facts, hidden }: Revealed): number =>
    hidden.size > 0 || CONTENT_FACTS.some((key) => isSaid(facts[key]))
      ? 0
      : facts.role === 'container'
        ? 2
        : 1;
  const ranked = given.toSorted((a, b) => rank(a) - rank(b));
  const pick = (key: (typeof KIND_FACTS)[number]): unknown => {
    const said = ranked.flatMap(({ facts }) => facts[key] ?? []);
    return said.find((value) => value !== span.name) ?? said[0];
  };
  return Object.fromEntries(KIND_FACTS.map((key) => [key, pick(key)]));
}

/** Adds the facts that are read in the same way for every convention. */
function completeFacts(facts: SpanFacts, view: SpanView, isKnown: boolean): void {
  const { span, logs } = view;
  fillGaps(facts, withIds(commonFacts(view)));
  const failure = failureIn(facts.toolResult);
  if (failure !== undefined) {
    facts.error = { type: facts.error?.type ?? null, message: facts.error?.message ?? failure };
  }
  if (isKnown) {
    facts.toolTexts = listToolTexts(view);
  }
  if (isKnown && facts.withheld?.includes('usage') !== true) {
    [span, ...span.events, ...logs].forEach(({ attributes }) => fillUsage(facts, partsAmong(attributes)));
  }
  if (facts.role === 'llm') {
    facts.output = facts.output?.flatMap(openFinalAnswer);
    facts.finishReason ??= findFinishReason(view);
  }
  readStop(facts, span);
}

/** Finds the role of a span for which a user's table names none: from what the span has. */
function roleByFacts(facts: SpanFacts): SpanFacts['role'] {
  const { toolName, toolArgs, toolResult, documents, model, input, output } = facts;
  const hasContent = input !== undefined || output !== undefined;
  if (toolName !== undefined && (toolArgs !== undefined || toolResult !== undefined)) {
    return 'tool';
  }
  if (documents !== undefined && output === undefined) {
    return 'retriever';
  }
  return hasContent ? (model === undefined ? 'agent' : 'llm') : undefined;
}

/** Warns of content that the emitter dropped, or that was cut when it was stored. */
function listLosses(span: Span): ReadingWarning[] {
  const { spanId, droppedAttributesCount: dropped, truncated = [] } = span;
  // A stub has no content to lose.
  const cut = truncated.includes(STUB_MARK) ? [] : truncated;
  const droppedDetail = `the emitter dropped ${dropped} attributes; raise its attribute count limit (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT)`;
  const cutDetail = `cut when it was stored: ${cut.join(', ')}; raise ingest.limits`;
  return [
    ...(dropped > 0 ? [{ code: 'attributes_dropped', spanId, detail: droppedDetail }] : []),
    ...(cut.length > 0 ? [{ code: 'truncated', spanId, detail: cutDetail }] : []),
  ];
}

function without(facts: SpanFacts, withheld: SpanFacts['withheld']): SpanFacts {
  return withheld === undefined
    ? facts
    : Object.fromEntries(Object.entries(facts).filter(([key]) => !withheld.some((name) => name === key)));
}

const ID_FACTS = ['session', 'user', 'toolCallId', 'responseId'] as const;

/** Removes ids and names of models that are the text of an empty value. */
function withIds(facts: SpanFacts): SpanFacts {
  const empty = [
    ...ID_FACTS.filter((key) => facts[key] !== undefined && !isId(facts[key])),
    ...(facts.model === undefined || isModelName(facts.model) ? [] : (['model'] as const)),
  ];
  return empty.length === 0 ? facts : without(facts, empty);
}

/** Adds facts that are missing. Returns the number of added facts. */
export function fillGaps(facts: SpanFacts, more: SpanFacts): number {
  const target = facts as Record<string, unknown>;
  let given = 0;
  const source = more as Record<string, unknown>;
  for (const key of Object.keys(more)) {
    const value = source[key];
    if (key === 'usage') {
      given += fillUsage(facts, more.usage);
    } else if (isSaid(value) && !isSaid(target[key])) {
      target[key] = value;
      given++;
    }
  }
  return given;
}

function fillUsage(facts: SpanFacts, usage: SpanFacts['usage']): number {
  const known: Record<string, number | null> = { ...facts.usage };
  const added = Object.entries(usage ?? {}).filter(
    ([name, count]) => count !== null && (known[name] ?? null) === null,
  );
  facts.usage = added.length === 0 ? known : { ...known, ...Object.fromEntries(added) };
  return added.length === 0 ? 0 : 1;
}

/** Reads facts that are equal in every convention: failure, and OpenTelemetry's own keys of session, user and agent version. */
function commonFacts({ span, logs }: SpanView): SpanFacts {
  const sources = [span.attributes, ...logs.map((log) => log.attributes)];
  const find = (...keys: string[]): string | undefined =>
    findFirst(sources, (source) => readText(source, ...keys));
  return {
    session: find('session.id', 'galileo.session.id'),
    user: find('user.id', 'enduser.id'),
    agentVersion: find('gen_ai.agent.version'),
    model: [find('traceloop.association.properties.ls_model_name'), find('metadata.ls_model_name')].find(
      isModelName,
    ),
    error: span.statusCode === 'Error' ? buildError(span) : undefined,
  };
}

/** LangGraph's output of a graph that waits: a list of interrupts that is not empty, as JSON or as Python prints it. */
const INTERRUPTED_OUTPUT = /["']__interrupt__["']: ?[[(]\s*[^\s\])]/;

/** Replaces an error that is no failure by the stop that it stands for. A tool that stopped has no result. */
function readStop(facts: SpanFacts, span: Span): void {
  const stop = facts.error && readErrorHalt(facts.error, span.attributes.get('error.type'));
  if (stop !== undefined) {
    delete facts.error;
    delete facts.toolResult;
  }
  const isStep = facts.role === 'agent' || facts.role === 'workflow' || facts.role === 'container';
  const isInterrupted =
    (isStep && INTERRUPTED_OUTPUT.test(readText(span.attributes, ...OUTPUT_KEYS) ?? '')) ||
    span.events.some((event) => event.name === 'exception' && isPause(event));
  const finish = facts.finishReason === undefined ? undefined : readFinishHalt(facts.finishReason);
  facts.halt ??= stop ?? (isInterrupted && facts.error === undefined ? 'waiting' : finish);
}

/** True for an exception that pauses a run; some emitters record it on a span without an error. */
function isPause({ attributes }: Span['events'][number]): boolean {
  const type = attributes.get('exception.type') ?? null;
  return readHalt({ type, message: attributes.get('exception.message') ?? null }) === 'waiting';
}

/** Builds the error of a span with an error status: exceptions on a span that ended well are control flow in several frameworks. */
function buildError(span: Span): SpanError {
  const exception = span.events.findLast((event) => event.name === 'exception');
  const attributes = exception?.attributes;
  const message = attributes?.get('exception.message') || span.statusMessage;
  const type = attributes?.get('exception.type') || span.attributes.get('error.type');
  return { type: type || null, message: message ? message.slice(0, MAX_ERROR_CHARS) : null };
}

const JUDGE_KINDS = new Set(['EVALUATOR', 'GUARDRAIL_EVALUATOR']);

/** True for the span of a judge or a scorer: its subtree is never part of an agent run. */
function isEvaluationSpan(span: Span): boolean {
  const { attributes } = span;
  return (
    span.scopeName === OWN_SCOPE ||
    attributes.has('gen_ai.evaluation.name') ||
    JUDGE_KINDS.has(attributes.get('openinference.span.kind')?.toUpperCase() ?? '') ||
    attributes.get('mastra.span.type')?.startsWith('scorer') === true ||
    attributes.get('langfuse.environment')?.startsWith('langfuse-') === true ||
    span.name === 'scorer_run'
  );
}
