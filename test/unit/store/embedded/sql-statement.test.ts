import { describe, expect, it } from 'vitest';
import { parseStatement, sqlString } from '../../../../src/store/embedded/sql-statement.ts';

describe('an INSERT with data', () => {
  it.each([
    ['INSERT INTO t FORMAT JSONEachRow', 'INSERT INTO t', '', 'JSONEachRow'],
    ['insert into db.t (a, `FORMAT`) format RowBinary', 'insert into db.t (a, `FORMAT`)', '', 'RowBinary'],
    [
      "INSERT INTO TABLE t SETTINGS a = 1, b = 'x' FORMAT CSV",
      'INSERT INTO TABLE t',
      "SETTINGS a = 1, b = 'x'",
      'CSV',
    ],
    ['INSERT INTO t (a) VALUES (1)', 'INSERT INTO t (a)', '', 'Values'],
    ['INSERT INTO format FORMAT TSV', 'INSERT INTO format', '', 'TSV'],
    ["INSERT INTO FUNCTION file('x', 'CSV') FORMAT CSV", "INSERT INTO FUNCTION file('x', 'CSV')", '', 'CSV'],
    ['/* ; */ INSERT INTO t -- FORMAT\n FORMAT TSV', '/* ; */ INSERT INTO t -- FORMAT', '', 'TSV'],
    ['INSERT INTO {t:Identifier} FORMAT TSV', 'INSERT INTO {t:Identifier}', '', 'TSV'],
  ])('%j is taken apart', (sql, head, settings, format) => {
    const statement = parseStatement(sql);

    expect(statement.kind).toBe('insert');
    expect(statement.insert).toMatchObject({ head, settings, format });
  });

  it('does not read its data, for any data', () => {
    const sql = "INSERT INTO t FORMAT CSV\n'; DROP TABLE x; {p:String}\n";

    const { insert, parameters } = parseStatement(sql);

    expect(sql.slice(insert?.dataStart)).toBe("'; DROP TABLE x; {p:String}\n");
    expect(parameters.size).toBe(0);
  });

  it('begins its data right behind one line break', () => {
    const sql = 'INSERT INTO t FORMAT RowBinary\n\n\u0001x';

    expect(sql.slice(parseStatement(sql).insert?.dataStart)).toBe('\n\u0001x');
  });

  it.each([
    'INSERT INTO t SELECT 1',
    'INSERT INTO t (a) SETTINGS b = 1 SELECT a FROM format',
    'INSERT INTO t (SELECT 1)',
  ])('%j is not one', (sql) => {
    expect(parseStatement(sql)).toMatchObject({ kind: 'other', insert: undefined });
  });
});

describe('the kind of a statement', () => {
  it.each([
    ['SELECT 1', 'read'],
    ['  -- x\n(SELECT 1)', 'read'],
    ['WITH 1 AS x SELECT x', 'read'],
    ['WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x', 'other'],
    ['SHOW TABLES', 'read'],
    ['CREATE TABLE t (a UInt8) ENGINE = Memory', 'other'],
    ['SET max_threads = 1', 'session'],
    ['USE db', 'session'],
    ['CREATE TEMPORARY TABLE t (a UInt8)', 'session'],
    ['SYSTEM STOP MERGES', 'other'],
  ])('of %j is %s', (sql, kind) => {
    expect(parseStatement(sql).kind).toBe(kind);
  });
});

describe('one statement only', () => {
  it.each([
    'SELECT 1; SELECT 2',
    'SELECT 1;;x',
    "SELECT 'a\\'; -- '; DROP TABLE t",
    'SELECT 1 /* ; */; SET a = 1',
  ])('%j is refused', (sql) => {
    expect(() => parseStatement(sql)).toThrow('Multi-statements');
  });

  it.each([
    ["SELECT 'a;b'", "SELECT 'a;b'"],
    ["SELECT 'it''s;' ; ", "SELECT 'it''s;' "],
    ['SELECT `a;b`, "c;d" -- ;', 'SELECT `a;b`, "c;d" -- ;'],
    ['SELECT $x$ ; $x$', 'SELECT $x$ ; $x$'],
    ['SELECT 1 # ; comment\n;', 'SELECT 1 # ; comment\n'],
  ])('%j is not', (sql, kept) => {
    expect(parseStatement(sql).sql).toBe(kept);
  });

  it.each(['', '  ', '-- nothing', '/* open'])('%j is empty', (sql) => {
    expect(() => parseStatement(sql)).toThrow('Empty query');
  });
});

describe('the names in a statement', () => {
  it('is its output format, the last one outside brackets', () => {
    expect(parseStatement("SELECT format('x', 1) FROM (SELECT 1) FORMAT JSON SETTINGS a = 1").format).toBe(
      'JSON',
    );
    expect(parseStatement('SELECT format FROM t').format).toBeUndefined();
  });

  it.each([
    ['SELECT 1', 8],
    ['-- x\n(SELECT 1) FORMAT CSV', 16],
    ['FROM t SELECT a', 15],
    ["SELECT 1 INTO OUTFILE 'x'", undefined],
    ['EXPLAIN SELECT 1', undefined],
    ['SHOW TABLES', undefined],
    ['WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x', undefined],
  ])('leaves a place for INTO OUTFILE in %j at %s', (sql, outfileAt) => {
    expect(parseStatement(sql).outfileAt).toBe(outfileAt);
  });

  it('are its parameters, not those in quotes and comments', () => {
    const sql =
      "SELECT {a:String}, {b : Map(String, Array(UInt8))}, '{c:String}' /* {d:String} */ FROM {e:Identifier}";

    expect([...parseStatement(sql).parameters]).toEqual(['a', 'b', 'e']);
  });
});

describe('statements that the engine would not survive', () => {
  it('are refused', () => {
    expect(() => parseStatement('CREATE TABLE t (a UInt8) ENGINE = Kafka SETTINGS x = 1')).toThrow('Kafka');
    expect(() => parseStatement("KILL QUERY WHERE query_id = 'x' SYNC")).toThrow('ASYNC');
  });
});

describe('a string literal', () => {
  it('escapes characters that would end it', () => {
    expect(sqlString("a'b\\c\0")).toBe("'a\\'b\\\\c\\0'");
  });
});
