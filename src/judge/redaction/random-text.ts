/** Lengths of a random text that may be a key. Shorter ones may be ids, longer ones are data. */
const MIN_CHARS = 32;
const MAX_CHARS = 128;

/** Names in front of random texts that identify something and open nothing. */
const NAMES_ID =
  /(?:\bid|_id|-id|[a-z]I[dD]|[iI]ds|signature|hash|sha\d*|digest|etag|checksum|integrity|cursor|nonce|fingerprint|_?uid|version|revision|base64)["'\\\])]{0,12}\s{0,2}[:=,]\s{0,2}["'\\[(]{0,12}$/;
/** Beginnings of ids: of tool calls, of replies, of things at providers, of sums. */
const BEGINS_ID =
  /^(?:call|toolu|tooluse|tool|functions?|msg|run|req|chatcmpl|cmpl|resp|rs|fc|gen|asst|thread|step|batch|file|sess|conv|trace|span|vs|ctc|item|event|evt|sha\d+)[-_]/i;

/**
 * Finds [start, end) of every text that looks random, as keys without a known beginning do: 32 to 128 letters and digits in one case or
 * both. Hexadecimal texts are ids and hashes, so they stay.
 */
export function findRandomText(text: string): [number, number][] {
  const found: [number, number][] = [];
  // A run that is long enough covers one of these places: the others need no look.
  for (let at = MIN_CHARS - 1; at < text.length; at += MIN_CHARS) {
    if (!isRunChar(text.charCodeAt(at))) {
      continue;
    }
    const start = startOfRun(text, at);
    let end = at + 1;
    while (isRunChar(text.charCodeAt(end))) {
      end += 1;
    }
    const length = end - start;
    if (length >= MIN_CHARS && length <= MAX_CHARS && isAlone(text, start, end)) {
      const run = text.slice(start, end);
      if (
        looksRandom(run) &&
        !BEGINS_ID.test(run) &&
        !NAMES_ID.test(text.slice(Math.max(0, start - 40), start))
      ) {
        found.push([start, end]);
      }
    }
    at = end - (end % MIN_CHARS) - 1 > at ? end - (end % MIN_CHARS) - 1 : at;
  }
  return found;
}

/** Returns the start of the run around a place. The letter of an escape of JSON (`\\n`) is no part of it. */
function startOfRun(text: string, at: number): number {
  let start = at;
  while (isRunChar(text.charCodeAt(start - 1))) {
    start -= 1;
  }
  const escape =
    text[start - 1] === '\\' ? /^(?:u[0-9a-f]{4}|[nrtbf])/i.exec(text.slice(start, start + 5)) : null;
  return start + (escape?.[0].length ?? 0);
}

/** True for letters, digits, `_` and `-` of ASCII; false beyond the text. */
function isRunChar(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 48 && code <= 57) ||
    (code >= 65 && code <= 90) ||
    code === 95 ||
    code === 45
  );
}

/** False for a part of a path, a URL, a name with points, or other base64. */
function isAlone(text: string, start: number, end: number): boolean {
  const before = text[start - 1] ?? '';
  const after = text[end] ?? '';
  return (
    !'/+.@%:'.includes(before || ' ') &&
    !'/+@%'.includes(after || ' ') &&
    !/^\.\w/.test(text.slice(end, end + 2))
  );
}

function looksRandom(run: string): boolean {
  const counts = [/[a-z]/g, /[A-Z]/g, /\d/g].map((kind) => run.match(kind)?.length ?? 0);
  const [lower = 0, upper = 0, digits = 0] = counts;
  if (digits < 3 || lower + upper < digits / 2 || /^[0-9a-f_-]+$/i.test(run)) {
    return false;
  }
  // Words keep their kind of characters for several characters, random text does not.
  const changes = run.match(/[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g)?.length ?? 0;
  const isMixed = Math.min(lower, upper) >= 4;
  const isOneWord = !/[-_]/.test(run);
  return (
    new Set(run).size >= 14 &&
    changes >= run.length * (isMixed ? 0.4 : 0.25) &&
    (isMixed || isOneWord) &&
    digits <= run.length * 0.6 &&
    // Base64 of plain text.
    !/^[\s\x20-\x7e]*$/.test(Buffer.from(run, 'base64').toString('latin1'))
  );
}
