/** Characters that nobody sees, wide and narrow forms of ASCII, blanks, dashes, points, and ASCII or letters that a URL, JSON or HTML escapes. */
const FOLDED =
  /([\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF]|[\uFE00-\uFE0F]|\u034F)|([\u00A0\u2000-\u200A\u202F\u205F\u3000])|([\u2010-\u2015\u2212])|([\uFF01-\uFF5E])|(\uFE6B)|%(?:25){0,4}([2-7][0-9a-f])|([\u00B7\u2022\u2024\u3002\uFF61])|\\{1,64}u([0-9a-f]{4})|&#(x[0-9a-f]{1,5}|\d{1,6});|(&commat;)/gi;

/** Text of which one part differs in most texts that have to be folded. */
const MAY_FOLD = /[^\0-$'-[\]-\x7f\u0100-\u0ff0]/;

interface Folded {
  readonly source: string;
  readonly text: string;
  readonly shifts: readonly { readonly at: number; readonly by: number }[];
}

/** The last text, because all patterns look at the same one. */
let last: Folded = { source: '', text: '', shifts: [] };

/** Finds values in a text as a reader sees it, and says where they are in the text itself. */
export function findFolded(text: string, find: (folded: string) => [number, number][]): [number, number][] {
  if (last.source !== text) {
    last = fold(text);
  }
  const { shifts } = last;
  if (shifts.length === 0) {
    return find(text);
  }
  let passed = 0;
  // The places rise, so that each shift is passed once.
  const inText = (index: number): number => {
    while ((shifts[passed]?.at ?? Infinity) <= index) {
      passed += 1;
    }
    return index + (shifts[passed - 1]?.by ?? 0);
  };
  return find(last.text).map(([start, end]) => [inText(start), inText(end)]);
}

function fold(source: string): Folded {
  const shifts: { readonly at: number; readonly by: number }[] = [];
  let text = '';
  let from = 0;
  for (const match of MAY_FOLD.test(source) ? source.matchAll(FOLDED) : []) {
    const plain = unfold(match);
    if (plain !== undefined) {
      text += source.slice(from, match.index) + plain;
      from = match.index + match[0].length;
      shifts.push({ at: text.length, by: from - text.length });
    }
  }
  return { source, text: text + source.slice(from), shifts };
}

/** Returns the text that a match stands for; undefined for one that stays, as the escape of a letter of ASCII: it may be a boundary. */
function unfold([, unseen, blank, dash, wide, small, inUrl, point, inJson, inHtml, named]: RegExpExecArray):
  | string
  | undefined {
  if (unseen !== undefined) {
    return '';
  }
  if (blank !== undefined) {
    return ' ';
  }
  if (dash !== undefined) {
    return '-';
  }
  if (wide !== undefined) {
    return String.fromCharCode(wide.charCodeAt(0) - 0xfee0);
  }
  if (point !== undefined) {
    return '.';
  }
  if (small !== undefined || named !== undefined) {
    return '@';
  }
  const code = inHtml?.startsWith('x') === true ? inHtml.slice(1) : (inUrl ?? inJson);
  const char = String.fromCodePoint(code === undefined ? Number(inHtml) : Number.parseInt(code, 16));
  return inJson !== undefined && /[A-Za-z0-9\p{Cc}"\\]/u.test(char) ? undefined : char;
}
