import { EngineError } from '../engine-error.ts';
import { sqlTokens, type SqlToken } from '../sql-tokens.ts';
import type { ReaderAccount } from './reader-account.ts';
import type { FunctionCatalogue } from './reader-functions.ts';
import type { SyntaxNode } from './syntax-tree.ts';

/** Statement of a reader, as formatted by the engine. */
export interface ReaderQuery {
  /** Statement to run, without FORMAT. */
  readonly sql: string;
  /** The format that the statement names. */
  readonly format: string | undefined;
  /** SELECT in the statement, whose syntax tree must be checked. */
  readonly select: string | undefined;
}

function refuse(what: string): never {
  throw new EngineError('ACCESS_DENIED', `${what}. See docs/sql.md, "Readers"`);
}

function isWord(token: SqlToken | undefined, ...texts: readonly string[]): boolean {
  return token?.kind === 'word' && texts.includes(token.text);
}

/** First words of the statements that only describe, in addition to SELECT. */
const DESCRIPTIONS = [
  ['SHOW', 'TABLES'],
  ['SHOW', 'DATABASES'],
  ['SHOW', 'COLUMNS'],
  ['SHOW', 'CREATE', 'TABLE'],
  ['DESCRIBE', 'TABLE'],
  ['EXISTS', 'TABLE'],
];
const EXPLANATIONS = new Set(
  [
    ['EXPLAIN', 'AST', 'SYNTAX', 'QUERY', 'TREE', 'PLAN', 'PIPELINE', 'ESTIMATE'],
    ['INDEXES', 'ACTIONS', 'HEADER', 'DESCRIPTION', 'PROJECTIONS', 'JSON', 'SORTING', 'GRAPH', 'COMPACT'],
    ['RUN_PASSES', 'DUMP_PASSES', 'DUMP_TREE', 'DUMP_AST', 'PASSES', 'ONELINE', 'OPTIMIZE', 'PRETTY'],
  ].flat(),
);
const CLAUSES = ['INTO', 'OUTFILE', 'SETTINGS', 'FORMAT', 'WHERE'];

/** Returns true when one of the words occurs outside brackets and is not a table's name, as in `system.settings`. */
function hasClause(tokens: readonly SqlToken[], ...words: readonly string[]): boolean {
  return tokens.some(
    (token, at) => token.depth === 0 && isWord(token, ...words) && tokens[at - 1]?.text !== '.',
  );
}

/** Returns true when all tokens are words and names: no brackets, so no function and no subquery. */
function isPlain(tokens: readonly SqlToken[]): boolean {
  return tokens.every(
    (token) => token.text === '.' || (token.kind !== 'symbol' && token.kind !== 'parameter'),
  );
}

function isDescription(tokens: readonly SqlToken[]): boolean {
  const begins = DESCRIPTIONS.some((words) => words.every((word, at) => isWord(tokens[at], word)));
  return begins && isPlain(tokens) && !hasClause(tokens, ...CLAUSES);
}

function refuseClauses(tokens: readonly SqlToken[], reader: ReaderAccount): void {
  if (reader.tenant !== undefined && tokens.some((token) => isWord(token, 'PREWHERE'))) {
    // PREWHERE is computed over the rows of all tenants, so its errors reveal them.
    refuse('A reader of one tenant may not use PREWHERE: use WHERE');
  }
  if (hasClause(tokens, 'OUTFILE')) {
    refuse('A reader may not write files: INTO OUTFILE is refused');
  }
}

/** A statement without the FORMAT at its end. */
function withoutFormat(canonical: string): {
  tokens: readonly SqlToken[];
  sql: string;
  format: string | undefined;
} {
  const tokens = [...sqlTokens(canonical)];
  const [word, name] = tokens.slice(-2);
  if (word === undefined || name?.kind !== 'word' || !isWord(word, 'FORMAT') || word.depth > 0) {
    return { tokens, sql: canonical, format: undefined };
  }
  return {
    tokens: tokens.slice(0, -2),
    sql: canonical.slice(0, word.start).trimEnd(),
    format: canonical.slice(name.start),
  };
}

/**
 * Parses a statement of a reader, as formatted by the engine (`formatQuerySingleLine`): one statement, without comments.
 * Throws ACCESS_DENIED for anything but SELECT, SHOW, DESCRIBE, EXISTS and EXPLAIN of a SELECT.
 */
export function readReaderQuery(canonical: string, reader: ReaderAccount): ReaderQuery {
  const { tokens, sql, format } = withoutFormat(canonical);
  refuseClauses(tokens, reader);
  if (isWord(tokens[0], 'SELECT', 'WITH') || tokens[0]?.text === '(') {
    return { sql, format, select: sql };
  }
  if (isDescription(tokens)) {
    return { sql, format, select: undefined };
  }
  if (isWord(tokens[0], 'EXPLAIN')) {
    return { sql, format, select: explainedSelect(sql, tokens, reader) };
  }
  return refuse(
    `A reader may SELECT, SHOW, DESCRIBE, EXPLAIN and ask EXISTS, not ${tokens[0]?.text ?? 'nothing'}`,
  );
}

function explainedSelect(sql: string, tokens: readonly SqlToken[], reader: ReaderAccount): string {
  if (reader.tenant !== undefined) {
    refuse('EXPLAIN tells of rows of other tenants: a reader of one tenant may not use it');
  }
  const at = tokens.findIndex((token) => isWord(token, 'SELECT', 'WITH') || token.text === '(');
  const isKnown = tokens
    .slice(0, Math.max(at, 0))
    .every(({ text }) => EXPLANATIONS.has(text) || /^(?:\d+|=|,)$/u.test(text));
  const start = tokens[at]?.start;
  return start === undefined || !isKnown ? refuse('A reader may EXPLAIN a SELECT only') : sql.slice(start);
}

/** Nodes of the tree that are checked by their children alone. */
const NODES = new Set(
  [
    ['Root', 'SelectWithUnionQuery', 'SelectQuery', 'SelectIntersectExceptQuery', 'ExpressionList'],
    ['Asterisk', 'QualifiedAsterisk', 'ColumnsListMatcher', 'ColumnsRegexpMatcher'],
    ['QualifiedColumnsListMatcher', 'QualifiedColumnsRegexpMatcher', 'ColumnsTransformerList'],
    ['ColumnsExceptTransformer', 'ColumnsReplaceTransformer', 'ColumnsReplaceTransformer::Replacement'],
    ['TablesInSelectQuery', 'TablesInSelectQueryElement', 'TableJoin', 'ArrayJoin', 'Subquery', 'Literal'],
    ['WithElement', 'WindowListElement', 'WindowDefinition', 'OrderByElement', 'InterpolateElement'],
    ['SampleRatio', 'Collation', 'TableExpression', 'DataType', 'NameTypePair'],
  ].flat(),
);

/** Tables of the engine that describe the engine and contain no user rows. */
const SYSTEM_TABLES = new Set(
  [
    [
      'one',
      'numbers',
      'settings',
      'databases',
      'functions',
      'table_functions',
      'formats',
      'data_type_families',
    ],
    [
      'aggregate_function_combinators',
      'keywords',
      'time_zones',
      'collations',
      'build_options',
      'contributors',
    ],
  ].flat(),
);
/** Tables that count rows of all tenants. */
const COUNTING_TABLES = new Set(['tables', 'columns']);

/** Columns of every table that show the position of a row among all rows. */
const PART_COLUMN = /(?:^|\.)_(?:part|partition|block|sample|disk|row)\w*$/u;

/** Rules that the tree is checked against. */
export interface ReaderRules {
  readonly reader: ReaderAccount;
  readonly functions: FunctionCatalogue;
}

/** Refuses a table of another database; the engine refuses tables of this database without a grant. */
function checkTable(name: string, { reader }: ReaderRules): void {
  const dot = name.indexOf('.');
  const database = name.slice(0, Math.max(dot, 0));
  const table = name.slice(dot + 1);
  if (database === '' || database === reader.database) {
    return;
  }
  const isAllowed = SYSTEM_TABLES.has(table) || (COUNTING_TABLES.has(table) && reader.tenant === undefined);
  if (database !== 'system' || !isAllowed) {
    refuse(`A reader of ${reader.database} may not read ${name}`);
  }
}

/** Checks a column, or a name used as a table (`IN system.processes`) or a function (`arrayMap(file, …)`). */
function checkIdentifier(name: string, rules: ReaderRules): void {
  if (/^(?:system|information_schema)\./iu.test(name)) {
    checkTable(name, rules);
  }
  if (rules.reader.tenant !== undefined && PART_COLUMN.test(name)) {
    refuse(`${name} tells of rows of other tenants: a reader of one tenant may not use it`);
  }
  if (rules.functions.isRefusedName(name)) {
    refuse(`A reader may not use the function ${name}, nor a name like it`);
  }
}

function checkNode(node: SyntaxNode, parent: SyntaxNode, rules: ReaderRules): void {
  switch (node.kind) {
    case 'TableIdentifier':
      return checkTable(node.text, rules);
    case 'Identifier':
      return checkIdentifier(node.text, rules);
    case 'Function': {
      const isTable = parent.kind === 'TableExpression';
      const { functions } = rules;
      if (!(isTable ? functions.isTableFunctionAllowed(node.text) : functions.isAllowed(node.text))) {
        refuse(`A reader may not use the ${isTable ? 'table function' : 'function'} ${node.text}`);
      }
      return undefined;
    }
    case 'Set':
      return refuse('A reader may not give SETTINGS in a statement: send the settings in the URL');
    case 'ColumnsApplyTransformer':
      // The tree does not show which function it applies.
      return refuse('A reader may not use APPLY: name the columns');
    default:
      return NODES.has(node.kind) ? undefined : refuse(`A reader may not use ${node.kind} in a statement`);
  }
}

/** Refuses everything that a reader may not use, anywhere in the tree. Throws ACCESS_DENIED. */
export function checkSyntaxTree(tree: SyntaxNode, rules: ReaderRules): void {
  for (const child of tree.children) {
    checkNode(child, tree, rules);
    checkSyntaxTree(child, rules);
  }
}
