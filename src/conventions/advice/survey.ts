import { findNotUnderstood, isAgentKey } from './not-understood.ts';
import { normaliseTrace } from '../normalise-trace.ts';
import type { NormalisedSpan } from '../normalised-span.ts';
import type { AgentRun, NotScorableCode, TraceReading } from '../../domain/trace/agent-run.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import type { Attributes, Span, TraceData } from '../../domain/trace/span.ts';

/** Most emitters (service and scope) that a survey tells apart, and most kinds of spans that it lists of each. */
const MAX_SCOPES = 200;
const MAX_NAMES = 20;
const MAX_KEYS = 30;

/** Spans of one name that no convention understood. */
export interface NotUnderstoodSurvey {
  name: string;
  spans: number;
  reason: string;
  attributes: string[];
}

/** Survey of one emitter: one instrumentation scope in one service. */
export interface ScopeSurvey {
  service: string;
  scope: string;
  traces: number;
  /** Traces with a run that was read by the form of its values. */
  byShape: number;
  /** Spans of agents and models; others of the same scope are not counted. */
  spans: number;
  /** The conventions that read them, most spans first. */
  conventions: string[];
  /** Runs whose root is a span of this scope; sub-runs are not counted. */
  runs: number;
  scorable: number;
  /** Reasons why the other runs cannot be scored, most runs first, with the setting to turn on where it is known. */
  notScorable: { code: NotScorableCode; runs: number; detail: string }[];
  notUnderstood: NotUnderstoodSurvey[];
  /** Attributes that no convention read on spans that were understood, most text first. */
  unreadAttributes: UnreadAttribute[];
}

export interface Survey {
  traces: number;
  /** Traces without any run. */
  withoutRun: number;
  /** Most spans first. */
  scopes: ScopeSurvey[];
  /** Spans of further emitters than are told apart. */
  spansLeftOut: number;
}

interface Tally {
  survey: ScopeSurvey;
  conventions: Map<string, number>;
  unread: ReturnType<typeof createUnread>;
  lastTrace: string;
}

/** Sums up, trace by trace, what was understood per service and scope. Bounded, whatever comes. */
export function createSurvey(): {
  /** `traces`: how many stored traces were joined to this one; 1 when absent. */
  add(data: TraceData, reading: TraceReading, traces?: number): void;
  result(): Survey;
} {
  const tallies = new Map<string, Tally>();
  const totals = { traces: 0, withoutRun: 0, spansLeftOut: 0 };
  return {
    add(data, reading, traces = 1) {
      totals.traces += traces;
      totals.withoutRun += reading.runs.length === 0 ? 1 : 0;
      const silent = new Map(reading.notUnderstood.map((one) => [one.spanId, one]));
      const places = new Map<string, Tally>();
      for (const read of normaliseTrace(watched(data)).spans) {
        const notUnderstood = silent.get(read.span.spanId) ?? findNotUnderstood([read])[0];
        if (read.conventions.size > 0 || notUnderstood !== undefined) {
          const tally = findTally(tallies, read);
          totals.spansLeftOut += tally === undefined ? 1 : 0;
          if (tally !== undefined) {
            places.set(read.span.spanId, tally);
            countSpan(tally, read, notUnderstood);
          }
        }
      }
      const shaped = new Set<ScopeSurvey>();
      for (const run of reading.runs) {
        const tally = places.get(run.target.spanId) ?? places.values().next().value;
        countRun(tally, run);
        if (tally !== undefined && run.conventions.includes(BY_SHAPE)) {
          shaped.add(tally.survey);
        }
      }
      for (const survey of shaped) {
        survey.byShape++;
      }
    },
    result: () => ({
      ...totals,
      scopes: [...tallies.values()]
        .map(finished)
        .toSorted((a, b) => b.spans - a.spans || (a.service < b.service ? -1 : 1)),
    }),
  };
}

export function surveyTrace(data: TraceData, reading: TraceReading): ScopeSurvey[] {
  const survey = createSurvey();
  survey.add(data, reading);
  return survey.result().scopes;
}

function findTally(tallies: Map<string, Tally>, { span }: NormalisedSpan): Tally | undefined {
  const key = JSON.stringify([span.serviceName, span.scopeName]);
  const known = tallies.get(key);
  if (known !== undefined || tallies.size >= MAX_SCOPES) {
    return known;
  }
  const survey: ScopeSurvey = {
    service: span.serviceName,
    scope: span.scopeName,
    traces: 0,
    byShape: 0,
    spans: 0,
    conventions: [],
    runs: 0,
    scorable: 0,
    notScorable: [],
    notUnderstood: [],
    unreadAttributes: [],
  };
  const tally = { survey, conventions: new Map(), unread: createUnread(), lastTrace: '' };
  tallies.set(key, tally);
  return tally;
}

function countSpan(
  tally: Tally,
  { span, conventions }: NormalisedSpan,
  notUnderstood: TraceReading['notUnderstood'][number] | undefined,
): void {
  tally.survey.spans++;
  tally.survey.traces += tally.lastTrace === span.traceId ? 0 : 1;
  tally.lastTrace = span.traceId;
  for (const name of conventions.keys()) {
    tally.conventions.set(name, (tally.conventions.get(name) ?? 0) + 1);
  }
  if (conventions.size > 0) {
    tally.unread.add(span);
  }
  if (notUnderstood !== undefined) {
    const { name, reason, attributes } = notUnderstood;
    const list = tally.survey.notUnderstood;
    const known = list.find((one) => one.name === name);
    if (known !== undefined) {
      known.spans++;
      known.attributes = [...new Set([...known.attributes, ...attributes])].toSorted().slice(0, MAX_KEYS);
    } else if (list.length < MAX_NAMES) {
      list.push({ name, spans: 1, reason, attributes });
    }
  }
}

/** Counts a run for the emitter of its root; a root that says nothing itself is counted for the first that does. */
function countRun(tally: Tally | undefined, run: AgentRun): void {
  if (tally === undefined) {
    return;
  }
  const { survey } = tally;
  survey.runs++;
  if (run.notScorable === null) {
    survey.scorable++;
    return;
  }
  const { code, detail } = run.notScorable;
  const known = survey.notScorable.find((one) => one.code === code);
  if (known === undefined) {
    survey.notScorable.push({ code, runs: 1, detail });
  } else {
    known.runs++;
  }
}

function finished({ survey, conventions, unread }: Tally): ScopeSurvey {
  return {
    ...survey,
    conventions: [...conventions].toSorted(([, a], [, b]) => b - a).map(([name]) => name),
    notScorable: survey.notScorable.toSorted((a, b) => b.runs - a.runs),
    notUnderstood: survey.notUnderstood.toSorted((a, b) => b.spans - a.spans),
    unreadAttributes: unread.result(),
  };
}

/** Most keys that are counted separately, and most that are listed. */
const MAX_COUNTED = 300;
const MAX_LISTED = 30;

/** A key of agents and models that no convention read, on any span. */
interface UnreadAttribute {
  /** The key with stars for indexes: `llm.choices.*.finish_reason`. */
  key: string;
  spans: number;
  /** Total length of its values in UTF-16 units; the longest is most likely content. */
  chars: number;
}

/** Keys that were read from watched attributes. */
const askedByCopy = new WeakMap<Attributes, ReadonlySet<string>>();

/** Returns the trace with attributes that remember which keys were read, for `createUnread`. */
function watched(data: TraceData): TraceData {
  return { ...data, spans: data.spans.map((span) => ({ ...span, attributes: watch(span.attributes) })) };
}

function watch(attributes: Attributes): Attributes {
  const copy = new Map(attributes);
  const asked = new Set<string>();
  copy.get = (key) => {
    asked.add(key);
    return attributes.get(key);
  };
  copy.has = (key) => {
    asked.add(key);
    return attributes.has(key);
  };
  askedByCopy.set(copy, asked);
  return copy;
}

/** Collects the keys that no convention read on the added spans. A key that was read on one of them counts as read. */
function createUnread(): { add(span: Span): void; result(): UnreadAttribute[] } {
  const unread = new Map<string, UnreadAttribute>();
  const read = new Set<string>();
  return {
    add({ attributes }) {
      const asked = askedByCopy.get(attributes);
      const here = new Set<UnreadAttribute>();
      for (const [name, value] of attributes) {
        const key = isAgentKey(name) ? name.replace(/\.\d+(?=\.|$)/g, '.*') : undefined;
        const isNew = key !== undefined && !read.has(key) && !unread.has(key);
        if (key === undefined || (isNew && read.size + unread.size >= MAX_COUNTED)) {
          continue;
        }
        if (asked?.has(name) === true) {
          read.add(key);
        } else {
          const one = unread.get(key) ?? { key, spans: 0, chars: 0 };
          one.chars += value.length;
          unread.set(key, one);
          here.add(one);
        }
      }
      here.forEach((one) => void one.spans++);
    },
    result: () =>
      [...unread.values()]
        .filter(({ key }) => !read.has(key))
        .toSorted((a, b) => b.chars - a.chars || (a.key < b.key ? -1 : 1))
        .slice(0, MAX_LISTED),
  };
}
