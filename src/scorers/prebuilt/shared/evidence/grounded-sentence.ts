import { formatAll, formatPart } from '../../../../domain/plural.ts';
import type { Verdict } from '../../../../domain/score.ts';
import { nameFindings } from '../name-findings.ts';
import type { EvidenceSource, SourceKind } from './evidence.ts';
import { comparable, isQuotedIn, MIN_QUOTE_CHARS } from './find-quote.ts';
import { quotedPart } from './run-evidence.ts';
import { isChecked, tellUnchecked, type UNCHECKED } from './unchecked.ts';

const CLAIMING = ['sentence that claims something', 'sentences that claim something'] as const;

export const GROUNDING_VERDICTS = ['supported', 'contradicted', 'unsupported', 'no_claim'] as const;
export type GroundingVerdict = (typeof GROUNDING_VERDICTS)[number];

/** Verdict of the judge on one sentence. */
export interface JudgedSentence {
  verdict: GroundingVerdict;
  quotes: JudgedQuote[];
  reason: string;
}

/** Ground of a verdict: a passage of a source, or `absence`, where the source as a whole lacks something. */
interface JudgedQuote {
  source: number;
  quote: string;
  absence: boolean;
}

/** A sentence of the answer with its verdict. */
export interface GroundedSentence {
  sentence: string;
  /** `unchecked`: the evidence for this sentence was too long to read completely. */
  verdict: GroundingVerdict | typeof UNCHECKED;
  quotes: (JudgedQuote & { found: boolean; kind?: SourceKind | undefined })[];
  reason: string;
}

/**
 * Checks the judge's verdicts against the sources in code: without a quote that a source contains, a sentence is neither supported
 * nor contradicted, whatever the judge answered.
 */
export function verifySentence(
  sentence: string,
  { verdict, quotes, reason }: JudgedSentence,
  sources: ReadonlyMap<number, EvidenceSource>,
): GroundedSentence {
  const looked = quotes.map((quote) => {
    const source = findSource(quote, sources);
    return {
      ...quote,
      source: source ?? quote.source,
      found: source !== undefined,
      kind: sources.get(source ?? quote.source)?.kind,
    };
  });
  const isBacked = looked.some(({ found }) => found);
  if ((verdict === 'supported' || verdict === 'contradicted') && !isBacked) {
    const why = quotes.length === 0 ? 'no quote was given' : 'the quote stands in no source';
    return { sentence, verdict: 'unsupported', quotes: looked, reason: why };
  }
  return { sentence, verdict, quotes: looked, reason };
}

/**
 * Finds the evidence that holds a quote whose source is not named, and says its kind; of a short quote only where all sources that
 * hold it are of one kind.
 */
export function findHolder(
  quote: string,
  sources: ReadonlyMap<number, EvidenceSource> | undefined,
): { readonly source?: SourceKind } | undefined {
  const holders = [...(sources?.values() ?? [])].filter(({ text }) => isQuotedIn(quote, text));
  const [kind, ...further] = new Set(holders.map((source) => source.kind));
  return holders.length === 0
    ? undefined
    : kind === undefined || (further.length > 0 && !isLong(quote))
      ? {}
      : { source: kind };
}

/** True for a quote that counts in another source than the named one. */
function isLong(quote: string): boolean {
  return comparable(quote).replaceAll(' ', '').length >= MIN_QUOTE_CHARS;
}

/** Finds the source that holds a quote: the named one, else another. A quote of one word counts in the named one alone. */
function findSource(
  { source, quote, absence }: JudgedQuote,
  sources: ReadonlyMap<number, EvidenceSource>,
): number | undefined {
  const named = sources.get(source);
  if (absence && quote.trim() === '') {
    return named?.isWhole === true ? source : undefined;
  }
  if (named !== undefined && isQuotedIn(quote, named.text)) {
    return source;
  }
  return isLong(quote) ? [...sources].find(([, { text }]) => isQuotedIn(quote, text))?.[0] : undefined;
}

/** Lists the sentences as stored verdicts, each with the first quote that was found. */
export function listVerdicts(table: readonly GroundedSentence[]): Verdict[] {
  return table.map(({ sentence, verdict, quotes, reason }) => {
    const found = quotes.find((quote) => quote.found);
    return {
      statement: sentence,
      verdict,
      ...(reason === '' ? {} : { reason }),
      ...(found === undefined || found.quote === '' ? {} : { quote: quotedPart(found.quote) }),
      ...(found?.kind === undefined ? {} : { source: found.kind }),
    };
  });
}

/** Describes the verdicts of a table in one or two sentences. */
export function explainVerdicts(verdicts: readonly Verdict[]): string {
  const claims = verdicts.filter((entry) => entry.verdict !== 'no_claim' && isChecked(entry));
  const rest = tellUnchecked(verdicts, 'sentence')
    .map((told) => ` ${told}`)
    .join('');
  if (claims.length === 0) {
    return `The answer makes no factual claims.${rest}`;
  }
  const open = claims.filter(({ verdict }) => verdict !== 'supported');
  const named = open.map((entry) => ({
    ...entry,
    reason: entry.reason === undefined ? entry.verdict : `${entry.verdict}: ${entry.reason}`,
  }));
  return open.length === 0
    ? `The evidence supports ${formatAll(claims.length, ...CLAIMING)}.${rest}`
    : `The evidence supports ${formatPart(claims.length - open.length, claims.length, ...CLAIMING)}; not: ${nameFindings(named)}.${rest}`;
}
