/** Mark of each class of masked parts. A mark counts as one word. */
const MARKS: readonly (readonly [pattern: RegExp, mark: string])[] = [
  [/\b(?:https?|wss?|ftp|file):\/\/[^\s"'<>)]+/giu, '<url>'],
  [/[\p{L}\p{N}._%+-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}/gu, '<email>'],
  [
    /"[^"\n]{1,200}"|“[^”\n]{1,200}”|„[^“\n]{1,200}“|«[^»\n]{1,200}»|`[^`\n]{1,200}`|(?<![\p{L}\p{N}])'[^'\n]{1,200}'(?![\p{L}\p{N}])/gu,
    '<quote>',
  ],
  // Addresses come before dates: the start of an address can look like a date.
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/gu, '<address>'],
  [
    /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?\b/giu,
    '<date>',
  ],
  [
    /\b(?:\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?(?:january|february|march|april|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b\.?(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{4}\b)?/giu,
    '<date>',
  ],
  [
    /(?<![\p{L}\p{N}:])\[?(?=[\da-f:]*::|(?:[\da-f]+:){7})(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}\]?(?::\d{1,5})?(?![\p{L}\p{N}:])/giu,
    '<address>',
  ],
  // The month is a verb, too.
  [/\b\d{1,2}\.?\s+may\b(?:,?\s+\d{4}\b)?|\bmay\s+\d{1,2}\b(?:,?\s+\d{4}\b)?/giu, '<date>'],
  [/(?:\/[\w.@-]+){2,}\/?/gu, '<path>'],
  [
    /(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY)\s?)\d[\d.,]*\d?|\d[\d.,]*\s?(?:[$€£¥%]|\b(?:USD|EUR|GBP|CHF|JPY|dollars?|euros?|pounds?)\b)/giu,
    '<amount>',
  ],
  [/#?\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z_])[\w-]{2,}\b|\b[0-9a-f]{8,}\b|#\d+/gu, '<id>'],
  [/[+-]?\b\d[\d.,]*\b/gu, '<number>'],
];

/** A run of capitalised words that does not begin a sentence, or has several words. */
const NAMES =
  /(?<=[\p{L}\p{N},;>)]\s)\p{Lu}[\p{L}'’-]*(?:\s+(?:(?:van|von|der|den|de|da|dos|du|del|la|bin|al)\s+)*(?:\p{Lu}[\p{L}'’.-]*|<name>))*|\p{Lu}[\p{L}'’-]+(?:\s+(?:(?:van|von|der|den|de|da|dos|du|del|la|bin|al)\s+)*\p{Lu}[\p{L}'’.-]*)+/gu;

/** Words that stand with a capital letter and are no names. */
const NO_NAME = new Set([
  'I',
  "I'm",
  "I've",
  "I'll",
  'HTTP',
  'JSON',
  'API',
  'URL',
  'ID',
  'OK',
  'SQL',
  'TLS',
  'DNS',
  'TCP',
]);

/** A number with its unit, which is written with and without a space. */
const UNIT = /(?<![\p{L}\p{N}])(\d[\d.,]*)(ms|s|sec|secs|min|mins|h|hrs|d|kb|mb|gb|kib|mib|gib|km|kg)\b/giu;

/** Most known values of a run, and the limits of their length, characters. */
const MAX_VALUES = 500;
const VALUE_CHARS = { least: 3, most: 80 };

/** Longest text that is masked, characters. */
const MAX_CHARS = 500;

/**
 * Masks what differs from run to run: numbers, amounts, dates, ids, quoted strings, addresses and names. Two texts that differ only in
 * these parts become equal.
 * @param values values of the run's own question and tool results
 */
export function maskText(text: string, values: ReadonlySet<string> = new Set()): string {
  let masked = text
    .slice(0, 2 * MAX_CHARS)
    .normalize('NFC')
    .replace(/[’ʼ]/gu, "'")
    .replace(UNIT, '$1 $2')
    .replace(/\s+/gu, ' ')
    .trim();
  for (const [pattern, mark] of MARKS) {
    masked = masked.replace(pattern, ` ${mark} `);
  }
  masked = masked.replace(NAMES, (name) => (NO_NAME.has(name) ? name : '<name>'));
  const lower = masked.toLowerCase();
  const known = [...values].filter((value) => lower.includes(value)).toSorted((a, b) => b.length - a.length);
  const found = known.reduce((whole, value) => replaceWord(whole, value), lower);
  return found
    .replace(/[^\p{L}\p{N}<>_'-]+/gu, ' ')
    .replace(/(<\w+>)(?:(?: (?:and|or|und|oder))? \1)+/gu, '$1')
    .trim()
    .slice(0, MAX_CHARS);
}

function replaceWord(text: string, value: string): string {
  const escaped = value.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&');
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}<])${escaped}(?![\\p{L}\\p{N}>])`, 'gu'), '<name>');
}

export function listNames(text: string): string[] {
  return text.match(NAMES)?.filter((name) => !NO_NAME.has(name)) ?? [];
}

/** Collects texts of a run's question and tool results, in lower case: names that it may repeat. Words of field names are none. */
export function collectValues(results: readonly unknown[]): Set<string> {
  const values = new Set<string>();
  const visit = (value: unknown): void => {
    if (values.size >= MAX_VALUES) {
      return;
    }
    if (typeof value === 'string') {
      const text = value.trim().toLowerCase();
      if (text.length >= VALUE_CHARS.least && text.length <= VALUE_CHARS.most) {
        values.add(text);
      }
    } else if (typeof value === 'object' && value !== null) {
      Object.values(value).forEach(visit);
    }
  };
  results.forEach(visit);
  return values;
}
