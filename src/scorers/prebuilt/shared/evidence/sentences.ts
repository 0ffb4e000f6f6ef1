import { createRequire } from 'node:module';

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
export function listSentences(lines: string): string[] {
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
