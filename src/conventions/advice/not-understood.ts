import { compareValues } from '../../domain/compare-values.ts';
import type { NotScorableCode, NotScorableReason, NotUnderstood } from '../../domain/trace/agent-run.ts';
import type { LogRecord, Span } from '../../domain/trace/span.ts';
import { CONTENT_FIELDS } from '../placeholders.ts';
import { STUB_MARK } from '../kept-content.ts';
import type { NormalisedSpan } from '../normalised-span.ts';
import { type Carrier, listCarriers, listMoments } from '../shape/carriers.ts';

/** Most spans that a reading lists as not understood, and most keys of each. */
const MAX_NOT_UNDERSTOOD = 50;
const MAX_KEYS = 30;
/** Most spans that are searched for unread texts, and most that are listed. */
const MAX_SEARCHED = 500;
const MAX_WITH_TEXTS = 10;

/** Prefixes of keys that only agent and model instrumentations use. */
const AGENT_KEYS =
  /^(gen_ai\.|llm\.|ai\.(?!azure)|openinference\.|traceloop\.|langfuse\.|langsmith\.|mastra\.|mlflow\.span|gcp\.vertex\.agent\.|genkit:|pydantic_ai\.|crewai\.|haystack\.|koog\.|spring\.ai\.|lk\.|lmnr\.|smolagents\.|claude_code\.|agent_framework\.|braintrust\.|flue\.|voltagent\.)/;

export function isAgentKey(key: string): boolean {
  return AGENT_KEYS.test(key);
}

/** Operations that are known not to be part of a run. */
const QUIET_OPERATIONS = new Set(['create_agent', 'create_memory_store']);

/** Finds spans that look like spans of an agent or a model, but that no convention can read. */
export function findNotUnderstood(normalised: readonly NormalisedSpan[]): NotUnderstood[] {
  const found: NotUnderstood[] = [];
  for (const { span, facts } of normalised) {
    const operation = span.attributes.get('gen_ai.operation.name');
    const isQuiet = facts.role !== undefined || (operation !== undefined && QUIET_OPERATIONS.has(operation));
    const keys = isQuiet ? [] : [...span.attributes.keys()].filter(isAgentKey);
    if (keys.length > 0 && found.length < MAX_NOT_UNDERSTOOD) {
      const reason =
        operation === undefined
          ? 'no known convention describes what this span is'
          : `gen_ai.operation.name "${operation}" is not a known operation`;
      const cut =
        span.truncated === undefined ? '' : `; truncated when it was stored: ${span.truncated.join(', ')}`;
      found.push(notUnderstood(span, reason + cut, keys.sort()));
    }
  }
  return found;
}

function notUnderstood(span: Span, reason: string, attributes: readonly string[]): NotUnderstood {
  const { spanId, name, serviceName: service, scopeName: scope } = span;
  return { spanId, name, service, scope, reason, attributes: attributes.slice(0, MAX_KEYS) };
}

/** Words of names whose texts are about the agent, not of a run. */
const ABOUT =
  /^(descriptions?|definitions?|schemas?|tools|functions|stacktrace|stack|config|configuration|settings|options|tags|advisors?|version|error)$/;

/** Finds the spans with the longest texts that nobody reads: there is the content of a trace that cannot be scored. */
export function findUnreadTexts(
  normalised: readonly NormalisedSpan[],
  logs: readonly LogRecord[],
): NotUnderstood[] {
  const named = logs.filter(({ eventName }) => eventName !== '');
  const logsBySpan = Map.groupBy(named, ({ spanId }) => spanId);
  return normalised
    .filter((read) => read.facts.role !== 'evaluation' && isWithoutContent(read))
    .slice(0, MAX_SEARCHED)
    .flatMap(({ span }) => {
      const moments = listMoments(span, logsBySpan.get(span.spanId) ?? [], () => true);
      const texts = [...listCarriers(span, () => true), ...moments.flatMap(({ carriers }) => carriers)]
        .filter(({ words }) => !words.some((word) => ABOUT.test(word)))
        .map((carrier) => ({ source: carrier.source, length: textLength(carrier) }))
        .filter(({ length }) => length > 0)
        .toSorted((a, b) => b.length - a.length || compareValues(a.source, b.source));
      return texts[0] === undefined ? [] : [{ span, texts, longest: texts[0].length }];
    })
    .toSorted((a, b) => b.longest - a.longest)
    .slice(0, MAX_WITH_TEXTS)
    .map(({ span, texts }) => {
      const sources = [...new Set(texts.map(({ source }) => source))];
      return notUnderstood(span, 'no convention reads the texts of this span', sources);
    });
}

/** Joins the spans with unread texts and the spans of no known kind; a span that is both has its texts first. */
export function joinNotUnderstood(
  unread: readonly NotUnderstood[],
  unknown: readonly NotUnderstood[],
): NotUnderstood[] {
  const rest = new Map(unknown.map((one) => [one.spanId, one]));
  const joined = unread.map((one) => {
    const same = rest.get(one.spanId);
    rest.delete(one.spanId);
    const attributes = [...new Set([...one.attributes, ...(same?.attributes ?? [])])].slice(0, MAX_KEYS);
    return { ...one, reason: same?.reason ?? one.reason, attributes };
  });
  return [...joined, ...rest.values()].slice(0, MAX_NOT_UNDERSTOOD);
}

/** Codes that say that a trace lacks content. */
const LACKING: Readonly<Partial<Record<NotScorableCode, string>>> = {
  no_content_captured: 'spanscore reads no messages in these spans',
  run_incomplete: 'spanscore reads no end of the run in these spans',
  no_agent_or_llm_span: 'spanscore reads no agent run and no model call in these spans',
};
/** Most texts that a reason names. */
const MAX_NAMED = 3;

/** Corrects a reason that says that a trace lacks content, where it has texts that nobody reads. */
export function pointAtTexts(
  reason: NotScorableReason,
  [unread]: readonly NotUnderstood[],
): NotScorableReason {
  const lack = LACKING[reason.code];
  if (lack === undefined || unread === undefined) {
    return reason;
  }
  const named = unread.attributes.slice(0, MAX_NAMED).join(', ');
  const detail = `${lack}; the longest texts that it does not read are ${named} of span "${unread.name}"; say what they are under conventions`;
  return { ...reason, detail };
}

/** True for a span whose conventions found no content and hide none. */
export function isWithoutContent({ span, facts }: NormalisedSpan): boolean {
  return (
    facts.withheld === undefined &&
    facts.hidden === undefined &&
    span.truncated?.includes(STUB_MARK) !== true &&
    !CONTENT_FIELDS.some((key) => facts[key] !== undefined)
  );
}

/** Returns the length of the longest text of words in a value; 0 without one. */
function textLength({ text, value }: Carrier): number {
  let longest = typeof value === 'string' ? wordsLength(value) : 0;
  if (typeof value === 'object') {
    JSON.stringify(value, (_key, inner: unknown) => {
      longest = Math.max(longest, typeof inner === 'string' ? wordsLength(inner) : 0);
      return inner;
    });
  }
  return longest > 0 ? Math.max(longest, text?.length ?? 0) : 0;
}

/** Four words, or some letters of a script without spaces. */
const WORDS = /\p{L}\S*(\s+\S+){3}|[^\p{ASCII}]{4}/u;

function wordsLength(text: string): number {
  return WORDS.test(text.slice(0, 2_000)) ? text.length : 0;
}
