/** One token of a ClickHouse statement; white space and comments are not tokens. */
export interface SqlToken {
  readonly kind: 'word' | 'quoted' | 'parameter' | 'symbol';
  /** The token as written; words in upper case. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Number of open brackets around the token. */
  readonly depth: number;
}

const WORD = /[\p{L}\p{N}_]+/uy;
const SPACE = /\s+/uy;
const PARAMETER = /\{\s*([A-Za-z_]\w*)\s*:[^{}]*\}/y;
const HEREDOC = /\$\w*\$/y;

function matchAt(pattern: RegExp, sql: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(sql);
}

/** The index after a quoted run that opens at `start`: backslash escapes and doubled quotes stay inside. */
function endOfQuoted(sql: string, start: number): number {
  const quote = sql[start];
  for (let at = start + 1; at < sql.length; at++) {
    if (sql[at] === '\\') {
      at++;
    } else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) {
        return at + 1;
      }
      at++;
    }
  }
  return sql.length;
}

function endAfter(sql: string, needle: string, from: number): number {
  const found = sql.indexOf(needle, from);
  return found === -1 ? sql.length : found + needle.length;
}

/** The index after white space or a comment at `at`, or `at` when there is none. */
function skipBlank(sql: string, at: number): number {
  const space = matchAt(SPACE, sql, at);
  if (space !== null) {
    return at + space[0].length;
  }
  const two = sql.slice(at, at + 2);
  if (two === '--' || two === '# ' || two === '#!') {
    return endAfter(sql, '\n', at);
  }
  return two === '/*' ? endAfter(sql, '*/', at + 2) : at;
}

function tokenAt(sql: string, at: number, depth: number): SqlToken {
  const character = sql.charAt(at);
  if (character === "'" || character === '"' || character === '`') {
    const end = endOfQuoted(sql, at);
    return { kind: 'quoted', text: sql.slice(at, end), start: at, end, depth };
  }
  const heredoc = character === '$' ? matchAt(HEREDOC, sql, at) : null;
  if (heredoc !== null) {
    const end = endAfter(sql, heredoc[0], at + heredoc[0].length);
    return { kind: 'quoted', text: sql.slice(at, end), start: at, end, depth };
  }
  const word = matchAt(WORD, sql, at);
  if (word !== null) {
    return { kind: 'word', text: word[0].toUpperCase(), start: at, end: at + word[0].length, depth };
  }
  const parameter = character === '{' ? matchAt(PARAMETER, sql, at) : null;
  if (parameter !== null) {
    return { kind: 'parameter', text: parameter[1] ?? '', start: at, end: at + parameter[0].length, depth };
  }
  return { kind: 'symbol', text: character, start: at, end: at + 1, depth };
}

/**
 * The tokens of a ClickHouse statement, as the engine's own lexer cuts them: quoted strings and names, heredocs, the
 * three kinds of comment, `{name:Type}` parameters. Lazy, so that data behind a FORMAT clause need not be walked.
 */
export function* sqlTokens(sql: string): Generator<SqlToken, void, undefined> {
  let depth = 0;
  let at = 0;
  while (at < sql.length) {
    const after = skipBlank(sql, at);
    if (after > at) {
      at = after;
      continue;
    }
    const closes = ')]}'.includes(sql.charAt(at));
    depth = closes ? Math.max(0, depth - 1) : depth;
    const token = tokenAt(sql, at, depth);
    if (token.kind === 'symbol' && '([{'.includes(token.text)) {
      depth++;
    }
    yield token;
    at = token.end;
  }
}
