import { formatPercent } from './format.ts';
import type { ScoreItem, SpanItem, TraceDetail } from './waterfall.ts';

export type Tone = 'good' | 'bad' | 'open';

/** Claim of a score: a statement, its verdict and its evidence. */
export interface Claim {
  /** Unique on the page. */
  readonly id: string;
  readonly scoreId: string;
  readonly statement: string;
  readonly verdict: string;
  /** Probability of the verdict, as `83 %`; '' for a judge that gives none. */
  readonly probability: string;
  readonly reason: string;
  /** Literal quote of the evidence; '' without one. */
  readonly quote: string;
  /** Kind of the evidence in words; '' when the scorer does not say. */
  readonly source: string;
  /** Span with the evidence; '' when none is known. */
  readonly spanId: string;
}

/** Score with its claims. */
export interface FindingGroup {
  readonly score: ScoreItem;
  readonly claims: readonly Claim[];
}

/** Verdicts that mean the same for every scorer; for the rest, only the scorer knows what is good. */
const TONES: Readonly<Record<string, Tone>> = {
  supported: 'good',
  kept: 'good',
  fulfilled: 'good',
  appropriate: 'good',
  answered: 'good',
  contradicted: 'bad',
  unsupported: 'bad',
  broken: 'bad',
  'not fulfilled': 'bad',
  inappropriate: 'bad',
  unanswered: 'bad',
  missing: 'bad',
  biased: 'bad',
  toxic: 'bad',
  fair: 'good',
  clean: 'good',
};

/** Words for the kinds of evidence. */
const SOURCES: Readonly<Record<string, string>> = {
  system: 'the system prompt',
  user: 'the words of the user',
  turns: 'an earlier turn',
  'tool-results': 'a tool call',
  documents: 'a document',
};

const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', bad: '✗', open: '?' };

/** Sign of a verdict beside its word. */
export function verdictSign(verdict: string): { readonly tone: Tone; readonly sign: string } {
  const tone = TONES[verdict.toLowerCase()] ?? 'open';
  return { tone, sign: SIGNS[tone] };
}

/** Words of a chat judge for verdicts, by the id of the score. */
export type Words = ReadonlyMap<string, ScoreItem['verdicts']>;

/** Adds the words of a chat judge to the verdicts that they are about. */
export function addWords(scores: readonly ScoreItem[], words: Words): ScoreItem[] {
  return scores.map((score) => {
    const worded = words.get(score.scoreId) ?? [];
    const wordOf = ({ statement, verdict }: ScoreItem['verdicts'][number]) =>
      worded.find((each) => each.statement === statement && each.verdict === verdict);
    return { ...score, verdicts: score.verdicts.map((verdict) => ({ ...verdict, ...wordOf(verdict) })) };
  });
}

/** Kinds of evidence that steps have. */
const OF_STEPS: readonly string[] = ['', 'tool-results', 'documents'];

/** Finds the step of each quote whose scorer names none: the first tool or retrieval that has it. */
export function placeQuotes<Trace extends Pick<TraceDetail, 'scores' | 'spans'>>(trace: Trace): Trace {
  const steps = trace.spans.filter(({ kind }) => kind === 'tool' || kind === 'retrieval');
  const place = (verdict: ScoreItem['verdicts'][number]) => {
    const { spanId, quote = '', source = '' } = verdict;
    const isOpen = (spanId ?? '') === '' && OF_STEPS.includes(source);
    const step = isOpen ? steps.find((each) => findEvidence(quote, each) !== undefined) : undefined;
    return step === undefined ? verdict : { ...verdict, spanId: step.spanId };
  };
  return {
    ...trace,
    scores: trace.scores.map((score) => ({ ...score, verdicts: score.verdicts.map(place) })),
  };
}

/** Builds the findings of scores: those with claims first. */
export function buildFindings(scores: readonly ScoreItem[]): FindingGroup[] {
  return scores
    .map((score) => ({
      score,
      claims: score.verdicts.map(
        ({ statement, verdict, probability, reason, quote, source, spanId }, index) => ({
          id: `${score.scoreId}-${index}`,
          scoreId: score.scoreId,
          statement,
          verdict,
          probability: probability === undefined ? '' : formatPercent(probability),
          reason: reason ?? '',
          quote: quote ?? '',
          source: SOURCES[source ?? ''] ?? '',
          spanId: spanId ?? '',
        }),
      ),
    }))
    .toSorted((a, b) => Number(b.claims.length > 0) - Number(a.claims.length > 0));
}

/** Names the tool of a span: its name without the verb of OpenTelemetry. */
export function nameTool({ name, attributes }: SpanItem): string {
  return attributes['gen_ai.tool.name'] ?? name.replace(/^execute_tool /u, '');
}

/** Lists the claims that cite a span. */
export function claimsOf(groups: readonly FindingGroup[], spanId: string): Claim[] {
  return groups.flatMap(({ claims }) => claims.filter((claim) => claim.spanId === spanId));
}

/** Text of a span around a quote. */
export interface Evidence {
  /** Place of the text: `attribute gen_ai.tool.call.result`. */
  readonly place: string;
  readonly before: string;
  readonly quote: string;
  readonly after: string;
}

/** Characters of the text that are shown before and after a quote. */
const AROUND = 400;

/** Finds a quote in the texts of a span: in its attributes, then in those of its events, also where it is escaped as JSON. */
export function findEvidence(quote: string, span: SpanItem): Evidence | undefined {
  if (quote === '') {
    return undefined;
  }
  const escaped = JSON.stringify(quote).slice(1, -1);
  for (const [place, text] of listTexts(span)) {
    for (const wanted of [quote, escaped]) {
      const at = text.indexOf(wanted);
      if (at !== -1) {
        return cutAround(place, text, { at, length: wanted.length });
      }
    }
  }
  return undefined;
}

function listTexts({ attributes, events }: SpanItem): (readonly [place: string, text: string])[] {
  return [
    ...Object.entries(attributes).map(([key, text]) => [`attribute ${key}`, text] as const),
    ...events.flatMap((event) =>
      Object.entries(event.attributes).map(([key, text]) => [`event ${event.name}, ${key}`, text] as const),
    ),
  ];
}

function cutAround(place: string, text: string, { at, length }: { at: number; length: number }): Evidence {
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + length + AROUND);
  return {
    place,
    before: (from > 0 ? '…' : '') + text.slice(from, at),
    quote: text.slice(at, at + length),
    after: text.slice(at + length, to) + (to < text.length ? '…' : ''),
  };
}
