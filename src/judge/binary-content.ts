/** Shortest run of encoded characters that is left out; tokens and hashes are shorter. */
const MIN_RUN = 200;
/** Least bytes in a list of numbers. */
const MIN_BYTES = 64;
/** Least different values in a list of bytes that begins like no known file. */
const MIN_VALUES = 200;
/** Longest address whose parts stay whole. */
const MAX_URL = 2000;
/** Characters before and after a run in which its type is searched. */
const NEAR = 160;
/** Least length of the lines of a wrapped file. */
const MIN_LINE = 60;
/** Largest share of lower case letters in base64; in words it is larger, by chance it is 0.4. */
const MAX_LOWER = 0.65;
/** Largest share of hyphens and underscores in base64. */
const MAX_RULES = 0.3;

const LETTER = String.raw`[A-Za-z0-9+/_-]`;
/** A character of base64 as JSON of PHP and .NET and as URLs write it. */
const ESCAPED = String.raw`\\+(?:\/|u00(?:2[bBfF]|3[dD]))|%2[bBfF]|%3[dD]`;
const RUN = `(?:${LETTER}+|${ESCAPED})+`;
const LINE_END = String.raw`\r?\n|(?:\\+r)?\\+n`;
const LINES = `${RUN}(?:(?:${LINE_END})${RUN})*={0,2}`;

const MIME = String.raw`[a-z]+\\*/[\w.+-]+`;
const BASE64_URL = new RegExp(String.raw`data:(${MIME})?(?:;[\w.+=-]+)*;base64,(${LINES})`, 'gi');
const PERCENT_URL = new RegExp(
  String.raw`data:((?:image|audio|video|font|application)\\*/[\w.+-]+)[^\s"'\`)<>\\,]*,[^\s"'\`)<>\\]+`,
  'gi',
);

const ENCODED = new RegExp(String.raw`(?:(\\+[bfnrt])|(?<!${LETTER}))(?=[^\s"]{${MIN_LINE}})(${LINES})`, 'g');
const MAYBE_ENCODED = new RegExp(`${LETTER}{${MIN_LINE}}`);
const UNESCAPE = new RegExp(ESCAPED, 'g');

const NUMBER_LIST = /\[[\d,\s\\nrt-]+\]/g;
const NUMBER_MEMBERS = /\{(\\*")0\\*":[\d,:"\\]+\}/g;
const PYTHON_BYTES = /(?<=\bb')[^']{100,}/g;
const HEX_ESCAPE = /\\+x[0-9a-f]{2}/g;

/** First bytes of files, with their types. */
const SIGNATURES: readonly (readonly [type: string, base64: RegExp, bytes: readonly number[]])[] = [
  ['image/png', /^iVBORw0K/, [137, 80, 78, 71]],
  ['image/jpeg', /^\/9j\//, [255, 216, 255]],
  ['image/gif', /^R0lGOD/, [71, 73, 70, 56]],
  ['image/webp', /^UklGR.{8}V0VCU/, [82, 73, 70, 70, -1, -1, -1, -1, 87, 69, 66, 80]],
  ['audio/wav', /^UklGR/, [82, 73, 70, 70]],
  ['audio/mpeg', /^(SUQz|\/\/[uvs][QkwxAB])/, [73, 68, 51]],
  ['audio/ogg', /^T2dnUw/, [79, 103, 103, 83]],
  ['application/pdf', /^JVBERi/, [37, 80, 68, 70]],
  ['application/zip', /^UEsDB/, [80, 75, 3, 4]],
];

/**
 * Replaces files inside a text by their type and size, such as `[image/png, 18 kB]`: data URLs, base64, hex, lists of bytes.
 * A judge cannot read them, and they fill its window. Everything else stays as it is.
 */
export function leaveOutBinary(text: string): string {
  return leaveOutBytes(leaveOutEncoded(text));
}

function leaveOutEncoded(text: string): string {
  if (!MAYBE_ENCODED.test(text) && !text.includes('data:')) {
    return text;
  }
  return text
    .replace(BASE64_URL, (url: string, type: string | undefined, data: string) =>
      data.length < MIN_RUN ? url : describe(type ?? '', sizeOfBase64(unwrap(data).join(''))),
    )
    .replace(PERCENT_URL, (url: string, type: string) =>
      url.length < MIN_RUN ? url : describe(type, url.length),
    )
    .replace(ENCODED, (match: string, lead: string | undefined, lines: string, at: number, whole: string) => {
      const start = at + (lead ?? '').length;
      return match.length < MIN_RUN ? match : `${lead ?? ''}${leaveOutLines(lines, start, whole)}`;
    });
}

/** Leaves out a file of several lines, or each line that is a file of its own. */
function leaveOutLines(lines: string, start: number, whole: string): string {
  const parts = unwrap(lines);
  const [first = '', ...rest] = parts;
  const isWrapped =
    parts.length > 1 &&
    first.length >= MIN_LINE &&
    rest.every(({ length }, index) =>
      index === rest.length - 1 ? length <= first.length : length === first.length,
    );
  if (isWrapped || parts.length === 1) {
    return leaveOutRun(lines, parts.join(''), { whole, start });
  }
  let at = start;
  return lines
    .split(new RegExp(`(${LINE_END})`))
    .map((piece) => {
      const place = { whole, start: at };
      at += piece.length;
      return leaveOutRun(piece, unescape(piece), place);
    })
    .join('');
}

function unwrap(lines: string): string[] {
  return lines.split(new RegExp(LINE_END)).map(unescape);
}

function unescape(run: string): string {
  return run.replace(UNESCAPE, (escaped) => (/2b$/i.test(escaped) ? '+' : /3d$/i.test(escaped) ? '=' : '/'));
}

function leaveOutRun(
  original: string,
  run: string,
  { whole, start }: { readonly whole: string; readonly start: number },
): string {
  if (run.length < MIN_RUN || isInUrl(whole, start, run.length)) {
    return original;
  }
  const type = findTypeNearby(whole, start, start + original.length);
  if (isHex(run)) {
    // Lines of hex are a list of hashes.
    return run.length < original.length && type === '' ? original : describe(type, run.length / 2);
  }
  return isMedia(type) || isBase64(run)
    ? describe(type === '' ? typeOfBase64(run) : type, sizeOfBase64(run))
    : original;
}

/** True for types of data that no text has. */
function isMedia(type: string): boolean {
  return /^(image|audio|video|font)/i.test(type);
}

function isInUrl(whole: string, start: number, length: number): boolean {
  const before = whole.slice(Math.max(0, start - MAX_URL), start + 2);
  return length < MAX_URL && /\w:\\*\/\\*\//.test(before.split(/[\s"'<>]/).at(-1) ?? '');
}

function isHex(run: string): boolean {
  return /^(0x)?([0-9a-f]+|[0-9A-F]+)$/.test(run) && /[a-f]/i.test(run) && /\d/.test(run);
}

/** Tells base64 from long words, paths, names and lines of characters: it mixes upper and lower case. */
function isBase64(run: string): boolean {
  const lower = countMatches(run, /[a-z]/g);
  const rules = countMatches(run, /[_-]/g);
  const isMixed = lower > 0 && lower / run.length <= MAX_LOWER && /[A-Z]/.test(run);
  return /^A+=*$/.test(run) || (isMixed && rules / run.length <= MAX_RULES);
}

function countMatches(text: string, pattern: RegExp): number {
  return text.length - text.replace(pattern, '').length;
}

function typeOfBase64(run: string): string {
  return SIGNATURES.find(([, signature]) => signature.test(run))?.[0] ?? '';
}

/** Finds the media type or the format that stands beside the data or above it; '' for none. */
function findTypeNearby(whole: string, start: number, end: number): string {
  const before =
    whole
      .slice(Math.max(0, start - NEAR), start)
      .split('}')
      .at(-1) ?? '';
  const after = whole.slice(end, end + NEAR).split(/[{}]/)[0] ?? '';
  for (const near of [after, before]) {
    const type = /\b(?:image|audio|video|application|font|text)\\*\/[\w.+-]+/i.exec(near)?.[0];
    const format = /\bformat\\*["']\s*:\s*\\*["'](\w+)/i.exec(near)?.[1];
    if (type !== undefined || format !== undefined) {
      return type ?? typeOfFormat(format ?? '');
    }
  }
  return '';
}

function typeOfFormat(format: string): string {
  if (/^(png|jpe?g|gif|webp|bmp|tiff|heic|avif)$/i.test(format)) {
    return `image/${format}`;
  }
  return /^(wav|mp3|ogg|opus|flac|aac|m4a|pcm\d*|webm)$/i.test(format) ? `audio/${format}` : '';
}

function sizeOfBase64(run: string): number {
  return Math.floor((run.replace(/=+$/, '').length * 3) / 4);
}

function leaveOutBytes(text: string): string {
  return text
    .replace(NUMBER_LIST, (list: string, at: number, whole: string) => {
      const before = whole.slice(Math.max(0, at - NEAR), at);
      const quote = /(\\*")\s*:\s*$/.exec(before)?.[1] ?? '';
      const isBuffer = /Buffer\\*"\s*,\s*\\*"data\\*"\s*:\s*$/.test(before);
      return describeBytes(list, list.match(/-?\d+/g) ?? [], {
        quote,
        fits: (bytes) =>
          isBuffer || isByteList(bytes) || isMedia(findTypeNearby(whole, at, at + list.length)),
      });
    })
    .replace(NUMBER_MEMBERS, (members: string, quote: string) =>
      describeBytes(members, members.match(/(?<=:)\d+/g) ?? [], { quote, fits: () => true }),
    )
    .replace(PYTHON_BYTES, (bytes: string) =>
      (bytes.match(HEX_ESCAPE) ?? []).length < MIN_BYTES
        ? bytes
        : describe('', bytes.replace(/\\+(x..|.)/g, '.').length),
    );
}

function describeBytes(
  original: string,
  numbers: readonly string[],
  { quote, fits }: { readonly quote: string; readonly fits: (bytes: readonly number[]) => boolean },
): string {
  const bytes = numbers.map(Number);
  const isInRange = bytes.every((byte) => byte >= -128 && byte <= 255);
  return bytes.length >= MIN_BYTES && isInRange && fits(bytes)
    ? `${quote}${describe(typeOfBytes(bytes), bytes.length)}${quote}`
    : original;
}

/** Tells bytes from figures: they begin as a file does, or take most values of the range. */
function isByteList(bytes: readonly number[]): boolean {
  return typeOfBytes(bytes) !== '' || new Set(bytes).size >= MIN_VALUES;
}

function typeOfBytes(bytes: readonly number[]): string {
  const isAt = (byte: number, index: number): boolean => byte === -1 || ((bytes[index] ?? -1) & 255) === byte;
  return SIGNATURES.find(([, , signature]) => signature.every(isAt))?.[0] ?? '';
}

function describe(type: string, bytes: number): string {
  const named = type === '' ? 'binary data' : type.replaceAll('\\', '');
  const size =
    bytes < 1000
      ? `${Math.floor(bytes)} B`
      : bytes < 1e6
        ? `${Math.round(bytes / 1000)} kB`
        : `${(bytes / 1e6).toFixed(1)} MB`;
  return `[${named}, ${size}]`;
}
