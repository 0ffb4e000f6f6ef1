import { createRequire } from 'node:module';
import { formatCount, formatAll, formatPart } from '../../domain/plural.ts';
import type { Verdict } from '../../domain/score.ts';
import { nameFindings } from './texts.ts';
import type { EvidenceSource, SourceKind } from './evidence.ts';
import { comparable, isQuotedIn, MIN_QUOTE_CHARS } from './quotes.ts';
import { quotedPart } from './run-evidence.ts';
import { ifGiven, mapped, member } from './reply-form.ts';

/** Languages with a list of abbreviations in CLDR. */
const LANGUAGES = ['de', 'en', 'es', 'fr', 'it', 'pt', 'ru'];
/** Languages that write the day before the month with a full stop, `30. Juni`. */
const ORDINAL_LANGUAGES = ['de', 'da', 'nb', 'fi', 'cs', 'sk', 'sl', 'hr', 'et', 'hu', 'lv', 'is'];
/** Abbreviations that CLDR's lists lack. */
const FURTHER = ['al.', 'approx.', 'bzw.', 'ca.', 'cf.', 'esp.', 'inkl.', 'resp.', 'vgl.', 'vs.'];

const INITIALS = /(?:^|[^\p{L}.])(?:\p{Lu}\.|(?:\p{L}\.\s?){2,4})$/u;
/** Times of day end sentences as often as not. */
const TIME_OF_DAY = /[ap]\.\s?m\.$/i;
const DAY = /(?:^|\s)\d{1,2}\.$/;
const WORD = /[\p{L}\p{N}]/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

interface Suppressions {
  readonly segments: {
    readonly segmentations: { readonly SentenceBreak: { readonly standard?: { suppression: string }[] } };
  };
}

let abbreviations: ReadonlySet<string> | undefined;
let months: ReadonlySet<string> | undefined;

/**
 * Lists the sentences of lines; each ends at the end of its line at the latest. A full stop after an abbreviation, an initial or the
 * day of a date ends none. Takes all lines at once, because starting the search costs more than the search in a short line.
 */
function listSentences(lines: string): string[] {
  const sentences: string[] = [];
  let isNewLine = true;
  for (const { segment } of segmenter.segment(lines)) {
    const last = isNewLine ? undefined : sentences.at(-1);
    if (last !== undefined && isGoingOn(last, segment)) {
      sentences[sentences.length - 1] = `${last} ${segment.trim()}`.trim();
    } else {
      sentences.push(segment.trim());
    }
    isNewLine = segment.endsWith('\n');
  }
  return sentences;
}

function isGoingOn(last: string, next: string): boolean {
  // A bare number or bullet belongs to what follows it, a bare closing mark to what it closes.
  if (!WORD.test(next) || /^\W*\d+[.)]$/.test(last)) {
    return true;
  }
  if (!last.endsWith('.') || TIME_OF_DAY.test(last)) {
    return false;
  }
  if (DAY.test(last)) {
    return listMonths().has(/^\p{L}+/u.exec(next)?.[0].toLowerCase() ?? '');
  }
  const word = /[^\s("„“«[]+$/u.exec(last)?.[0] ?? '';
  return INITIALS.test(last) || listAbbreviations().has(word.toLowerCase());
}

/** Lists the abbreviations of all languages. English `No.` is left out: it is an answer more often than a number. */
function listAbbreviations(): ReadonlySet<string> {
  if (abbreviations === undefined) {
    const load = createRequire(import.meta.url);
    const listed = LANGUAGES.flatMap((language) => {
      const path = `cldr-segments-full/segments/${language}/suppressions.json`;
      const { segments } = load(path) as Suppressions;
      return segments.segmentations.SentenceBreak.standard ?? [];
    });
    const known = listed.map(({ suppression }) => suppression.toLowerCase());
    abbreviations = new Set([...known, ...FURTHER].filter((word) => word !== 'no.' && word !== 'etc.'));
  }
  return abbreviations;
}

function listMonths(): ReadonlySet<string> {
  months ??= new Set(
    ORDINAL_LANGUAGES.flatMap((language) => {
      const format = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'long', timeZone: 'UTC' });
      return Array.from({ length: 12 }, (_, month) =>
        format
          .formatToParts(Date.UTC(2026, month, 1))
          .filter(({ type }) => type === 'month')
          .map(({ value }) => value.toLowerCase()),
      ).flat();
    }),
  );
  return months;
}

/** Most units in one question; in a longer answer a unit contains several sentences. */
const MAX_UNITS = 200;

const CODE_FENCE = /^\s*(```|~~~)/;
const TABLE_ROW = /^\s*\|.*\|\s*$/;
/** A label of what follows, as a heading, a list item or plain: `### Insurance:`, `- **Price**:`. */
const LABEL = /[:：][*_]{0,3}$/u;
const LABEL_CHARS = 80;
const WORD2 = /[\p{L}\p{N}]/u;

/**
 * Lists the units of an answer that have words, in order: sentences, headings, rows of tables, blocks of code. A label forms one unit
 * with what follows it.
 */
export function answerUnits(answer: string): string[] {
  return grouped(joinLabels(splitAnswer(answer)));
}

/** Puts each label before the unit after it: `### Insurance:` and `- No` say something together only. */
function joinLabels(units: readonly string[]): string[] {
  const joined: string[] = [];
  let label = '';
  for (const unit of units) {
    const whole = label === '' ? unit : `${label}\n${unit}`;
    label = LABEL.test(unit) && whole.length <= LABEL_CHARS ? whole : '';
    if (label === '') {
      joined.push(whole);
    }
  }
  return label === '' ? joined : [...joined, label];
}

function splitAnswer(answer: string): string[] {
  const units: string[] = [];
  let prose: string[] = [];
  let code: string[] | undefined;
  const endProse = (): void => {
    if (prose.length > 0) {
      units.push(...listSentences(prose.join('\n')));
      prose = [];
    }
  };
  for (const line of answer.split('\n')) {
    if (CODE_FENCE.test(line)) {
      endProse();
      if (code !== undefined) {
        units.push(code.join('\n'));
      }
      code = code === undefined ? [] : undefined;
    } else if (code !== undefined) {
      code.push(line);
    } else if (TABLE_ROW.test(line)) {
      endProse();
      units.push(line.trim());
    } else if (WORD2.test(line)) {
      prose.push(line);
    }
  }
  endProse();
  units.push((code ?? []).join('\n'));
  return units.filter((unit) => WORD2.test(unit));
}

function grouped(units: readonly string[]): string[] {
  const size = Math.ceil(units.length / MAX_UNITS);
  const groups: string[] = [];
  for (let start = 0; start < units.length; start += size) {
    groups.push(units.slice(start, start + size).join(' '));
  }
  return groups;
}

/** Verdict on a statement whose evidence was too long to read completely. It counts in no share. */
export const UNCHECKED = 'unchecked';

/** True for a verdict that counts. */
export function isChecked({ verdict }: Pick<Verdict, 'verdict'>): boolean {
  return verdict !== UNCHECKED;
}

/** Says in a sentence how many verdicts do not count; no sentence when all do. */
export function tellUnchecked(verdicts: readonly Pick<Verdict, 'verdict'>[], noun: string): string[] {
  const count = verdicts.filter((entry) => !isChecked(entry)).length;
  const [be, them] = count === 1 ? ['was', 'it'] : ['were', 'them'];
  return count === 0
    ? []
    : [`${formatCount(count, noun)} ${be} left out: not all evidence could be read for ${them}.`];
}

const CLAIMING = ['sentence that claims something', 'sentences that claim something'] as const;

export const GROUNDING_VERDICTS = ['supported', 'contradicted', 'unsupported', 'no_claim'] as const;
export type GroundingVerdict = (typeof GROUNDING_VERDICTS)[number];

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

/** Most quotes of one sentence that are searched. */
const MAX_QUOTES = 8;

/** Quotes of a sentence; `absence` says that the whole source lacks something. */
export const QUOTES = mapped(
  ifGiven(
    member.list({
      source: member.integer,
      quote: member.anyText,
      absence: mapped(ifGiven(member.flag), (isAbsence) => isAbsence ?? false),
    }),
  ),
  (quotes = []) => quotes.slice(0, MAX_QUOTES),
);
