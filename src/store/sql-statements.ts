import { MIB } from '../domain/byte-sizes.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { AppError, RequestError } from '../domain/errors.ts';
import type { SqlRequest } from './contracts/lists.ts';
import type { Database } from './database.ts';
import { listOwnTables, listOwnViews } from './schema/schema.ts';
import { toStatementError } from './store-error.ts';

/** Statements of one process that run at a time. The embedded engine runs as many for other programs. */
const MAX_RUNNING = 2;

/** Limits of each statement. Two of them leave the engine a third of its smallest memory. */
const LIMITS = {
  max_memory_usage: String(256 * MIB),
  max_result_rows: '5000000',
  max_result_bytes: String(1024 * MIB),
  max_threads: 2,
} as const;

/** Time that a statement may wait for its turn and its reply, beside its own limit, milliseconds. */
const GRACE_MS = 30_000;

/** Statements of people: one SELECT over the documented tables, read-only and with limits. */
export function createSqlStatements(database: Database) {
  const check = createStatementCheck(database);
  let running = 0;

  return {
    /**
     * Streams the rows of a SELECT in its format. Fails before the first byte, or not at all. Throws a `RequestError` for a statement that
     * is refused, wrong, or reaches a limit.
     */
    async *run({ query, format, maxSeconds, signal }: SqlRequest): AsyncGenerator<Uint8Array> {
      if (running >= MAX_RUNNING) {
        throw new AppError(`${MAX_RUNNING} SQL statements run already; try again later`, {
          code: 'overloaded',
          stage: 'store',
          retryable: true,
        });
      }
      running += 1;
      try {
        const sql = await check(query);
        const settings = {
          ...LIMITS,
          max_execution_time: maxSeconds,
          output_format_pretty_color: 0,
          cancel_http_readonly_queries_on_client_close: 1,
          readonly: '1',
        } as const;
        const timeoutMs = maxSeconds * SECOND_MS + GRACE_MS;
        yield* database.userStatementBytes(`${sql} FORMAT ${format}`, { settings, timeoutMs, signal });
      } finally {
        running -= 1;
      }
    },
  };
}

/** Tables of secrets, which no statement may read. */
const SECRET: readonly string[] = ['cookie_keys'];

/** Lists the tables that docs/sql.md describes and that a statement may read, by name. */
export function readableTables(): string[] {
  return listOwnTables().filter((name) => !SECRET.includes(name));
}

/** Kinds of functions, in the engine's words, that only compute: they reach no file, address, table or setting. */
const SAFE_CATEGORIES = new Set(
  [
    ['Arithmetic', 'Arrays', 'Bit', 'Bitmap', 'Comparison', 'Conditional', 'Dates and Times', 'Distance'],
    ['Encoding', 'Financial', 'Geo', 'Geo Polygon', 'Hash', 'IP Address', 'JSON', 'Logical', 'Map'],
    ['Mathematical', 'Null', 'NumericIndexedVector', 'QBit', 'Random Number', 'Rounding', 'String'],
    ['String Replacement', 'String Search', 'String Splitting', 'Time Window', 'Tuple'],
    ['Type Conversion', 'URL', 'UUID'],
  ].flat(),
);

/** Functions of other kinds that only compute as well; `version` and `revision` are also names of columns. */
const SAFE_FUNCTIONS = [
  ['lambda', 'exists', 'grouping', '_cast', 'casewithexpression', 'identity', 'materialize', 'ignore', 'bar'],
  [
    'totypename',
    'transform',
    'throwif',
    'version',
    'revision',
    'formatreadablequantity',
    'formatreadablesize',
  ],
  ['formatreadabletimedelta', 'runningdifference', 'neighbor', 'finalizeaggregation'],
].flat();

/** Functions that make rows out of their arguments alone. */
const TABLE_FUNCTIONS = ['numbers', 'values', 'generate_series', 'generateseries'];

/** Nodes of the engine's syntax tree that are checked by their children alone. */
const NODES = new Set(
  [
    ['SelectWithUnionQuery', 'SelectQuery', 'SelectIntersectExceptQuery', 'ExpressionList', 'Asterisk'],
    ['QualifiedAsterisk', 'ColumnsListMatcher', 'ColumnsRegexpMatcher', 'QualifiedColumnsListMatcher'],
    ['QualifiedColumnsRegexpMatcher', 'ColumnsTransformerList', 'ColumnsExceptTransformer'],
    ['ColumnsReplaceTransformer', 'ColumnsReplaceTransformer::Replacement', 'TablesInSelectQuery'],
    ['TablesInSelectQueryElement', 'TableJoin', 'ArrayJoin', 'Subquery', 'Literal', 'WithElement'],
    ['WindowListElement', 'WindowDefinition', 'OrderByElement', 'InterpolateElement', 'SampleRatio'],
    ['Collation', 'TableExpression', 'DataType', 'NameTypePair'],
  ].flat(),
);

/** Databases that every server has, although not every user sees them in the list. */
const SYSTEM = ['system', 'information_schema', 'INFORMATION_SCHEMA'];

/** A line of `EXPLAIN AST`: `  Function plus (alias sum) (children 1)`; a space in front for each level. */
const NODE = /^( *)([\w:]+)(?: (.*?))?(?: \(alias .*\))?(?: \(children \d+\))?$/su;

/** Functions of the engine, in lower case. */
interface Functions {
  readonly isKnown: (name: string) => boolean;
  readonly isSafe: (name: string) => boolean;
}

async function readFunctions(database: Database): Promise<Functions> {
  const known = await database.rows<{ name: string; aggregate: number; origin: string; category: string }>(
    `SELECT lower(f.name) AS name, f.is_aggregate AS aggregate, toString(f.origin) AS origin,
     if(f.alias_to = '', f.categories, original.categories) AS category
     FROM system.functions AS f LEFT JOIN system.functions AS original ON f.alias_to = original.name`,
  );
  const suffixes = await database.rows<{ name: string }>(
    'SELECT lower(name) AS name FROM system.aggregate_function_combinators',
  );
  const own = known.filter(({ origin }) => origin === 'System');
  const namesOf = (rows: readonly { name: string }[]) => rows.map(({ name }) => name);
  const aggregates = new Set(namesOf(own.filter(({ aggregate }) => aggregate === 1)));
  const names = new Set(namesOf(known));
  const safe = new Set([
    ...SAFE_FUNCTIONS,
    ...namesOf(own.filter(({ category }) => SAFE_CATEGORIES.has(category))),
  ]);
  const isAggregate = (name: string): boolean =>
    aggregates.has(name) ||
    suffixes.some((suffix) => name.endsWith(suffix.name) && isAggregate(name.slice(0, -suffix.name.length)));
  return { isKnown: (name) => names.has(name), isSafe: (name) => safe.has(name) || isAggregate(name) };
}

interface Names {
  readonly functions: Functions;
  /** Tables and views of the database that are not documented. */
  readonly hidden: ReadonlySet<string>;
  readonly databases: ReadonlySet<string>;
  readonly own: string;
}

function refusalOf(what: string): RequestError {
  return new RequestError(`query: ${what}; see docs/sql.md, "Run a SELECT"`);
}

function refuse(what: string): never {
  throw refusalOf(what);
}

/**
 * Refuses a name that may mean a table which is not documented. Any identifier can be one (`x IN t`, also through an alias), and an
 * unknown name is a common table expression, an alias or a column.
 */
function checkName(name: string, isTable: boolean, { functions, hidden, databases, own }: Names): void {
  const isOwn = name.startsWith(`${own}.`);
  const isForeign = isTable
    ? !isOwn && name.includes('.')
    : [...databases, ...SYSTEM].some((database) => database !== own && name.startsWith(`${database}.`));
  const isHidden = hidden.has(name) || (isOwn && hidden.has(name.slice(own.length + 1)));
  if (isForeign || isHidden) {
    refuse(`the table ${name} may not be read`);
  }
  const lower = name.toLowerCase();
  if (!isTable && functions.isKnown(lower) && !functions.isSafe(lower)) {
    refuse(`${name} is the name of a function that may not be used: give an alias another name`);
  }
}

function checkNode(kind: string, text: string, parent: string | undefined, names: Names): void {
  const isTable = kind === 'TableIdentifier';
  if (isTable || kind === 'Identifier') {
    checkName(text, isTable, names);
  } else if (kind === 'Function') {
    const name = text.toLowerCase();
    const isSafe =
      parent === 'TableExpression' ? TABLE_FUNCTIONS.includes(name) : names.functions.isSafe(name);
    if (!isSafe) {
      refuse(`the ${parent === 'TableExpression' ? 'table function' : 'function'} ${text} may not be used`);
    }
  } else if (!NODES.has(kind)) {
    refuse(kind === 'Set' ? 'SETTINGS may not be used' : `${kind} may not be used`);
  }
}

/** Creates the check of statements: it returns a statement as the engine spells it, or throws a `RequestError`. */
export function createStatementCheck(database: Database): (query: string) => Promise<string> {
  let functions: Functions | undefined;

  async function readNames(): Promise<Names> {
    functions ??= await readFunctions(database);
    const documented = [...readableTables(), ...listOwnViews()];
    const [found] = await database.rows<{ tables: string[]; databases: string[] }>(
      `SELECT (SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase()) AS tables,
       (SELECT groupArray(name) FROM system.databases) AS databases`,
    );
    return {
      functions,
      hidden: new Set(found?.tables.filter((name) => !documented.includes(name))),
      databases: new Set(found?.databases),
      own: database.name,
    };
  }

  async function spell(query: string): Promise<string> {
    const sql = 'SELECT formatQuerySingleLine({query:String}) AS sql';
    const [row] = await database.rows<{ sql: string }>(sql, { query }).catch((error: unknown) => {
      throw toStatementError(error);
    });
    return row?.sql ?? '';
  }

  /** Reads the lines of the tree. A subquery has no FORMAT, no INTO OUTFILE and no second statement. */
  async function readTree(sql: string): Promise<string[]> {
    const tree = database.rows<{ explain: string }>(`EXPLAIN AST SELECT * FROM (${sql})`);
    const lines = await tree.catch((error: unknown) => {
      const refusal = toStatementError(error);
      throw refusal instanceof RequestError
        ? refusalOf(
            'write one SELECT, without FORMAT, INTO OUTFILE and parameters (the format is beside the query)',
          )
        : refusal;
    });
    return lines.map(({ explain }) => explain);
  }

  return async (query) => {
    const sql = await spell(query);
    // A line break in a name would be a line of the tree.
    if (!/^(?:SELECT|WITH|\()/u.test(sql) || /`[^`]*\\[^`]*`/u.test(sql)) {
      refuse('write one SELECT, with plain names');
    }
    const lines = await readTree(sql);
    const names = await readNames();
    const open: string[] = [];
    for (const line of lines) {
      const [, indent = '', kind = line, text = ''] = NODE.exec(line) ?? [];
      open.length = indent.length;
      checkNode(kind, text, open.at(-1), names);
      open.push(kind);
    }
    return sql;
  };
}
