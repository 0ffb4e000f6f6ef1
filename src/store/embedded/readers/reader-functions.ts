import type { ChdbSession } from '../sessions/chdb-session.ts';

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

/** Functions of other kinds that only compute as well. */
const SAFE_FUNCTIONS = [
  ['lambda', 'exists', 'grouping', '_CAST', 'caseWithExpression', 'identity', 'materialize', 'ignore'],
  ['toTypeName', 'toColumnTypeName', 'isConstant', 'byteSize', 'countDigits', 'bar', 'transform'],
  ['formatReadableDecimalSize', 'formatReadableQuantity', 'formatReadableSize'],
  ['formatReadableTimeDelta', 'parseReadableSize', 'parseReadableSizeOrNull', 'parseReadableSizeOrZero'],
  ['parseTimeDelta', 'blockNumber', 'rowNumberInAllBlocks', 'rowNumberInBlock', 'neighbor'],
  ['runningAccumulate', 'runningDifference', 'runningDifferenceStartingWithFirstValue'],
  ['finalizeAggregation', 'initializeAggregation', 'throwIf', 'version', 'revision', 'displayName'],
  ['currentDatabase', 'currentUser', 'queryID', 'getSetting', 'visibleWidth', 'errorCodeToName'],
  ['defaultValueOfArgumentType', 'defaultValueOfTypeName', 'lowCardinalityIndices'],
  ['lowCardinalityKeys', 'variantElement', 'variantType', 'seriesDecomposeSTL', 'seriesOutliersDetectTukey'],
].flat();

/** Functions that make rows out of their arguments alone. */
const TABLE_FUNCTIONS = new Set(
  ['numbers', 'values', 'generate_series', 'generateSeries', 'SQLStandardValues'].map((name) =>
    name.toLowerCase(),
  ),
);

interface FunctionRow {
  readonly name: string;
  readonly aggregate: number;
  readonly origin: string;
  readonly category: string;
}

/** Functions that a reader may call. */
export interface FunctionCatalogue {
  isAllowed(name: string): boolean;
  isTableFunctionAllowed(name: string): boolean;
  /** Returns true when a column's name means a refused function: `arrayMap(file, …)`. */
  isRefusedName(name: string): boolean;
}

async function readRows<Row>(session: ChdbSession, sql: string): Promise<Row[]> {
  const reply = await session.queryAsync(sql, { format: 'JSONEachRow' });
  const lines = Buffer.from(reply.bytes()).toString('utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Row);
}

/** Asks the engine which functions it has. */
export async function readFunctionCatalogue(session: ChdbSession): Promise<FunctionCatalogue> {
  const functions = await readRows<FunctionRow>(
    session,
    `SELECT f.name AS name, f.is_aggregate AS aggregate, toString(f.origin) AS origin,
     if(f.alias_to = '', f.categories, original.categories) AS category
     FROM system.functions AS f LEFT JOIN system.functions AS original ON f.alias_to = original.name`,
  );
  const combinators = await readRows<{ name: string }>(
    session,
    'SELECT name FROM system.aggregate_function_combinators',
  );
  const suffixes = combinators.map(({ name }) => name.toLowerCase());
  const own = functions.filter(({ origin }) => origin === 'System');
  const aggregates = new Set(
    own.filter(({ aggregate }) => aggregate === 1).map(({ name }) => name.toLowerCase()),
  );
  const safe = new Set([
    ...SAFE_FUNCTIONS.map((name) => name.toLowerCase()),
    ...own.filter(({ category }) => SAFE_CATEGORIES.has(category)).map(({ name }) => name.toLowerCase()),
  ]);
  const all = new Set(functions.map(({ name }) => name.toLowerCase()));

  function isAggregate(name: string): boolean {
    return (
      aggregates.has(name) ||
      suffixes.some((suffix) => name.endsWith(suffix) && isAggregate(name.slice(0, -suffix.length)))
    );
  }
  const isAllowed = (name: string): boolean =>
    safe.has(name.toLowerCase()) || isAggregate(name.toLowerCase());
  return {
    isAllowed,
    isTableFunctionAllowed: (name) => TABLE_FUNCTIONS.has(name.toLowerCase()),
    isRefusedName: (name) => all.has(name.toLowerCase()) && !isAllowed(name),
  };
}
