import { EngineError } from './engine-error.ts';

/** Parts of an INSERT with inline data. The data is kept apart, so the SQL parser never reads it. */
export interface InsertParts {
  /** `INSERT INTO … (…)`, up to its SETTINGS, FORMAT or VALUES. */
  readonly head: string;
  /** `SETTINGS …` as written, or '' without one. */
  readonly settings: string;
  readonly format: string;
  /** Index in the text where the inline data starts. */
  readonly dataStart: number;
}

/** Facts about a statement that the HTTP front needs before it runs the statement. */
export interface SqlStatement {
  /**
   * `read` returns rows and changes nothing, so it can be cancelled. `insert` has inline data. `session` would change the
   * connection for later statements. `other` is any other statement.
   */
  readonly kind: 'read' | 'insert' | 'session' | 'other';
  /** Text of one statement, without its semicolon and the text after it. */
  readonly sql: string;
  /** Output format in the text. */
  readonly format: string | undefined;
  /** Index in `sql` where `INTO OUTFILE` can be added; undefined for a statement that is no SELECT, or that has it already. */
  readonly outfileAt: number | undefined;
  /** Names of the `{name:Type}` parameters. */
  readonly parameters: ReadonlySet<string>;
  readonly insert: InsertParts | undefined;
}

const READS = new Set(['SELECT', 'WITH', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'EXISTS', 'FROM', '(']);

const SELECTS = new Set(['SELECT', 'WITH', 'FROM']);

class Cursor {
  readonly seen: SqlToken[] = [];
  private readonly tokens: Iterator<SqlToken>;
  constructor(sql: string) {
    this.tokens = sqlTokens(sql);
  }
  next(): SqlToken | undefined {
    const step = this.tokens.next();
    if (step.done === true) {
      return undefined;
    }
    this.seen.push(step.value);
    return step.value;
  }
}

function isWord(token: SqlToken | undefined, text: string): boolean {
  return token?.kind === 'word' && token.text === text;
}

/** Skips `INTO [TABLE] [FUNCTION] name[.name]`. Returns the token after it. */
function afterTarget(cursor: Cursor): SqlToken | undefined {
  let token = cursor.next();
  while (isWord(token, 'INTO') || isWord(token, 'TABLE') || isWord(token, 'FUNCTION')) {
    token = cursor.next();
  }
  token = cursor.next();
  while (token?.text === '.') {
    cursor.next();
    token = cursor.next();
  }
  return token;
}

/** Returns the index of the data: after the format's name and one line break. RowBinary data may begin with any byte. */
function inlineDataStart(sql: string, at: number): number {
  const gap = /^[ \t]*(?:\r?\n)?/u.exec(sql.slice(at, at + 64));
  return at + (gap?.[0].length ?? 0);
}

/**
 * Returns the parts of an INSERT with inline data. Returns undefined for other statements, such as `INSERT … SELECT`; the
 * cursor then still has their tokens.
 */
function insertParts(sql: string, cursor: Cursor): InsertParts | undefined {
  let settingsAt: number | undefined;
  for (let token = afterTarget(cursor); token !== undefined; token = cursor.next()) {
    if (token.kind !== 'word' || token.depth > 0) {
      continue;
    }
    const head = sql.slice(0, settingsAt ?? token.start).trimEnd();
    const settings = settingsAt === undefined ? '' : sql.slice(settingsAt, token.start).trim();
    if (token.text === 'SETTINGS') {
      settingsAt = token.start;
    } else if (token.text === 'VALUES') {
      return { head, settings, format: 'Values', dataStart: token.end };
    } else if (token.text === 'FORMAT') {
      const name = cursor.next();
      if (name?.kind === 'word') {
        const format = sql.slice(name.start, name.end);
        return { head, settings, format, dataStart: inlineDataStart(sql, name.end) };
      }
    } else if (token.text === 'SELECT' || token.text === 'WITH' || token.text === 'FROM') {
      return undefined;
    }
  }
  return undefined;
}

/**
 * Reads the tokens to the end of the text. Returns the index where the first statement ends; throws when there is a second
 * statement.
 */
function endOfStatement(sql: string, cursor: Cursor): number {
  let end: number | undefined;
  for (let token = cursor.next(); token !== undefined; token = cursor.next()) {
    if (end !== undefined && token.text !== ';') {
      throw new EngineError(
        'SYNTAX_ERROR',
        'Multi-statements are not allowed: send one statement per request, without anything after the semicolon',
      );
    }
    if (token.kind === 'symbol' && token.text === ';') {
      end ??= token.start;
    }
  }
  return end ?? sql.length;
}

/** Finds a `FORMAT <name>` at the end, outside brackets. Only SETTINGS may follow it. */
function findOutputFormat(
  sql: string,
  tokens: readonly SqlToken[],
): { readonly name: string; readonly start: number } | undefined {
  for (let at = tokens.length - 2; at >= 0; at--) {
    const [word, name, next] = tokens.slice(at, at + 3);
    const isLast = next === undefined || next.text === ';' || isWord(next, 'SETTINGS');
    if (word !== undefined && isWord(word, 'FORMAT') && word.depth === 0 && name?.kind === 'word' && isLast) {
      return { name: sql.slice(name.start, name.end), start: word.start };
    }
  }
  return undefined;
}

function firstWord(tokens: readonly SqlToken[]): string {
  return (tokens.find((token) => token.text !== '(') ?? tokens[0])?.text ?? '';
}

function classify(tokens: readonly SqlToken[]): SqlStatement['kind'] {
  const text = firstWord(tokens);
  if (text === 'SET' || text === 'USE' || tokens.slice(0, 4).some((token) => isWord(token, 'TEMPORARY'))) {
    return 'session';
  }
  const writes = tokens.some((token) => token.depth === 0 && isWord(token, 'INSERT'));
  return READS.has(text) && !writes ? 'read' : 'other';
}

/** Rejects statements that crash the embedded engine. */
function refuseHarmful(tokens: readonly SqlToken[]): void {
  tokens.forEach((token, at) => {
    const engine = tokens[at + 1]?.text === '=' ? tokens[at + 2] : tokens[at + 1];
    if (isWord(token, 'ENGINE') && isWord(engine, 'KAFKA')) {
      throw new EngineError(
        'NOT_IMPLEMENTED',
        'The embedded engine cannot open a database again that holds a Kafka table',
      );
    }
  });
  if (isWord(tokens[0], 'KILL') && tokens.some((token) => isWord(token, 'SYNC'))) {
    throw new EngineError('NOT_IMPLEMENTED', 'KILL … SYNC never returns in the embedded engine: use ASYNC');
  }
}

/** Parses a statement. Throws `EngineError` for an empty text and for more than one statement. */
export function parseStatement(sql: string): SqlStatement {
  const cursor = new Cursor(sql);
  const first = cursor.next();
  if (first === undefined) {
    throw new EngineError('SYNTAX_ERROR', 'Empty query');
  }
  const insert = isWord(first, 'INSERT') ? insertParts(sql, cursor) : undefined;
  const end = insert === undefined ? endOfStatement(sql, cursor) : insert.dataStart;
  refuseHarmful(cursor.seen);
  const parameters = new Set(cursor.seen.filter((t) => t.kind === 'parameter').map((t) => t.text));
  const output = insert === undefined ? findOutputFormat(sql, cursor.seen) : undefined;
  const kind = insert === undefined ? classify(cursor.seen) : 'insert';
  const isSelect = kind === 'read' && SELECTS.has(firstWord(cursor.seen));
  const hasOutfile = cursor.seen.some((token) => token.depth === 0 && isWord(token, 'OUTFILE'));
  return {
    kind,
    sql: sql.slice(0, end),
    format: output?.name,
    outfileAt: isSelect && !hasOutfile ? (output?.start ?? end) : undefined,
    parameters,
    insert,
  };
}

/** Formats a ClickHouse string literal. */
export function sqlString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`;
}

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
