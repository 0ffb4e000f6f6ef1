import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineError, wireError } from '../../../../src/store/embedded/engine-error.ts';
import { hasEnded, markProcess, readProcessStart } from '../../../../src/store/embedded/processes.ts';
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

describe('an error on the wire', () => {
  it.each([
    ['Code: 60. DB::Exception: Table x (y) does not exist. (UNKNOWN_TABLE)', 404, 60],
    ['Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR) (version 26.7.2.1)', 400, 62],
    ['Code: 159. DB::Exception: Timeout. (TIMEOUT_EXCEEDED)', 408, 159],
    ['Code: 241. DB::Exception: Memory. (MEMORY_LIMIT_EXCEEDED)', 500, 241],
    ['Code: 999. DB::Exception: without a name', 500, 999],
  ])('%j keeps code and text and gets the status of a server', (message, status, code) => {
    expect(wireError(new Error(message))).toEqual({ status, code, body: message });
  });

  it('is UNKNOWN_EXCEPTION when it is none of the engine', () => {
    expect(wireError(new Error('ENOSPC: no space left'))).toMatchObject({ status: 500, code: 1002 });
  });

  it('of the front has the form of an error of the engine', () => {
    expect(wireError(new EngineError('TOO_MANY_SIMULTANEOUS_QUERIES', 'Too many'))).toEqual({
      status: 503,
      code: 202,
      body: 'Code: 202. DB::Exception: Too many. (TOO_MANY_SIMULTANEOUS_QUERIES)',
    });
  });
});

const [machine = '', ownPid = '', ownStart = ''] = markProcess().split(' ');
const children: ChildProcess[] = [];

/** Starts a process and returns the mark that it would have. */
async function startMarked(): Promise<{ child: ChildProcess; mark: string }> {
  const child = spawn('sleep', ['60']);
  children.push(child);
  await once(child, 'spawn');
  const start = (await readProcessStart(Number(child.pid)))?.split(' ')[1];
  return { child, mark: `${machine} ${child.pid} ${start}` };
}

let killed: string;
let living: string;
let stopped: string;

beforeAll(async () => {
  const { child, mark } = await startMarked();
  killed = mark;
  child.kill('SIGKILL');
  await once(child, 'exit');
  living = (await startMarked()).mark;
  const paused = await startMarked();
  paused.child.kill('SIGSTOP');
  stopped = paused.mark;
});
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

it.runIf(process.platform === 'linux').each([
  ['a killed process', () => killed, true],
  ['a process whose pid another one has now', () => `${machine} ${ownPid} ${Number(ownStart) - 1}`, true],
  ['this process', () => `${machine} ${ownPid} ${ownStart}`, false],
  ['a process that runs', () => living, false],
  ['a process that hangs', () => stopped, false],
  ['a killed process of another machine or container', () => killed.replace(machine, 'f'.repeat(16)), false],
  ['a process of a system that tells nothing', () => '', false],
  ['a process of an earlier version', () => '6f1b8f5e-6c0e-5b7e-9f0a-2f6d1c3a9e41', false],
  ['no process', () => `${machine} 0 ${ownStart}`, false],
])('%s is known to have ended only when it has', (_process, mark, isEnded) => {
  expect(hasEnded(mark())).toBe(isEnded);
});
