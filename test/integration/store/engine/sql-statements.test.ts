import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestError } from '../../../../src/domain/errors.ts';
import { openStore, type Store } from '../../../../src/store/store.ts';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../src/store/embedded/engine.ts';
import { readableTables } from '../../../../src/store/sql-statements.ts';
import { runCommand, type ClickHouseAddress } from '../../../support/store/clickhouse-query.ts';
import { fillTable, listTables } from '../../../support/store/filled-tables.ts';

// A SELECT of a person reads the documented tables, and nothing else of the machine, the engine or other databases.

const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-statements-'));
const secretFile = join(dataDir, 'secret.txt');
const outFile = join(dataDir, 'out.txt');
const database = 'spanscore';
let engine: EmbeddedEngine;
let address: ClickHouseAddress;
let store: Store;

beforeAll(async () => {
  engine = await startEmbeddedEngine({ dataDir });
  address = { url: engine.url, username: engine.username, password: engine.password, database };
  store = await openStore({ ...address, retention: { spansDays: 30, scoresDays: 400 } });
  writeFileSync(secretFile, 'the secret of the machine\n');
  mkdirSync(join(dataDir, 'clickhouse', 'user_files'), { recursive: true });
  for (const table of (await listTables(address)).filter(({ table: name }) => name === 'scores')) {
    await fillTable(address, table, 6, { IsDeleted: '0' });
  }
  for (const statement of [
    'CREATE DATABASE other',
    'CREATE DATABASE `dotted.name`',
    'CREATE TABLE other.t (a String) ENGINE = MergeTree ORDER BY a',
    "INSERT INTO other.t SELECT 'x'",
    'CREATE TABLE `dotted.name`.t (a String) ENGINE = MergeTree ORDER BY a',
    'CREATE TABLE not_listed (a String) ENGINE = MergeTree ORDER BY a',
    "INSERT INTO not_listed SELECT 'x'",
    'CREATE VIEW view_of_b AS SELECT Reason FROM scores',
    'CREATE FUNCTION made AS x -> file(x)',
  ]) {
    await runCommand(address, statement);
  }
}, 120_000);

afterAll(async () => {
  await store.close();
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

async function run(query: string, format = 'TSV', maxSeconds = 20, signal = new AbortController().signal) {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.sql.run({ query, format, maxSeconds, signal })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const text = async (query: string, format?: string) => (await run(query, format)).toString().trim();
const refusal = (query: string, maxSeconds?: number) =>
  run(query, 'TSV', maxSeconds).then(
    (rows) => `read: ${rows.toString()}`,
    (error: unknown) => (error instanceof RequestError ? error.message : `other: ${String(error)}`),
  );

describe('a SELECT of a person', () => {
  it('reads every documented column', async () => {
    const tables = (await listTables(address)).filter(({ table }) => readableTables().includes(table));
    const reads = tables.map(({ table, columns }) => {
      const names = columns.map(({ name }) => name).join(', ');
      return `SELECT '${table}' AS name, count() FROM (SELECT ${names} FROM ${table})`;
    });
    const read = await text(`SELECT name FROM (${reads.join(' UNION ALL ')}) ORDER BY name`);
    expect(read.split('\n')).toEqual(readableTables());
  });

  it.each([
    [
      `/* a comment */ WITH rows AS (SELECT * FROM scores FINAL -- and another
       ) SELECT count(), max(rank) >= 1, countIf(d.Status != '') FROM (SELECT *, rank() OVER (PARTITION BY Scorer ORDER BY Score) AS rank FROM rows) AS s
       LEFT JOIN spanscore.decisions AS d USING (TraceId) WHERE s.TraceId NOT IN (SELECT TraceId FROM otel_traces)`,
      '6\t1\t0',
    ],
    ['(SELECT 1 AS x) UNION ALL SELECT number FROM numbers(1);', '1\n0'],
    [
      "SELECT arrayMap(x -> x * 2, [1]), map('a', 1)['a'], toDate('2026-01-01')::String",
      '[2]\t1\t2026-01-01',
    ],
    [
      'WITH (SELECT groupArray(ScoreId) FROM scores) AS ids SELECT count() FROM `scores` WHERE has(ids, ScoreId)',
      '6',
    ],
    [
      'WITH ids AS (SELECT ScoreId FROM scores) SELECT count() FROM scores WHERE ScoreId IN ids AND ScoreId IN (ids)',
      '6',
    ],
    ['SELECT count() FROM (SELECT * EXCEPT (Reason) FROM scores LIMIT 2)', '2'],
    ['SELECT sumIf(1, Score = Score), uniq(ScoreId), quantile(0.5)(1) FROM scores', '6\t6\t1'],
  ])('may have subqueries, joins, windows and comments: %#', async (query, rows) => {
    expect(await text(query)).toBe(rows);
  });

  it('answers in each format of the engine, with what it prints at the front of a file', async () => {
    expect((await run('SELECT 1 AS a', 'Parquet')).subarray(0, 4).toString()).toBe('PAR1');
    expect(JSON.parse(await text('SELECT 1 AS a', 'JSON'))).toMatchObject({ data: [{ a: 1 }] });
    expect(await text('SELECT 1 AS a', 'PrettyCompactMonoBlock')).toContain('┌─a─┐');
  });

  it.each([
    ['time', 'SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 1', 'TIMEOUT_EXCEEDED'],
    ['memory', "SELECT groupArray(repeat('x', 100000)) FROM numbers(1e6)", 'MEMORY_LIMIT_EXCEEDED'],
    ['rows', 'SELECT number FROM numbers(1e8)', 'TOO_MANY_ROWS_OR_BYTES'],
  ])('has a limit of %s', async (_, query, name) => {
    expect(await refusal(query, name === 'TIMEOUT_EXCEEDED' ? 1 : 20)).toMatch(
      new RegExp(`^query: .*\\(${name}\\)$`, 'u'),
    );
  });

  it.each([
    ['SELECT nothing FROM scores', /^query: Unknown expression.*`nothing`.*UNKNOWN_IDENTIFIER/u],
    ['SELEC 1', /^query: Syntax error.*SELEC/u],
    ['SELECT * FROM absent', /^query: Unknown table.*absent.*UNKNOWN_TABLE/u],
  ])('that is wrong is refused with the words of the engine alone: %s', async (query, words) => {
    const message = await refusal(query);
    expect(message).toMatch(words);
    expect(message).not.toMatch(/formatQuery|EXPLAIN|OUTFILE|Code:|In scope|\/\*/u);
  });

  it('leaves the store free for others, two at a time, and ends with its client', async () => {
    const gone = new AbortController();
    const endless = 'SELECT count() FROM numbers(1e15) WHERE sipHash64(number) = 1';
    const two = Promise.allSettled([
      run(endless, 'TSV', 20, gone.signal),
      run(endless, 'TSV', 20, gone.signal),
    ]);
    await sleep(300);

    await expect(run('SELECT 1')).rejects.toMatchObject({ code: 'overloaded' });
    expect(await store.scorerNames()).toHaveLength(6);
    gone.abort();

    expect((await two).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await text('SELECT 1')).toBe('1');
  });
});

/** Ways out of the documented tables, by what they try. `@FILE` is a file of the machine, `@OUT` one that must not come to be. */
const ESCAPES: Readonly<Record<string, readonly string[]>> = {
  'table functions': [
    "SELECT * FROM file('@FILE', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM executable('id', 'TSV', 'a String')",
    "SELECT * FROM remote('127.0.0.1', other.t)",
    "SELECT * FROM cluster('default', other.t)",
    "SELECT * FROM s3('http://127.0.0.1:1/bucket/key', 'LineAsString')",
    "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
    "SELECT * FROM postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')",
    "SELECT * FROM sqlite('@FILE', 't')",
    "SELECT * FROM merge('other', '.*')",
    "SELECT * FROM merge('system', 'processes')",
    'SELECT * FROM view(SELECT * FROM other.t)',
    'SELECT * FROM loop(other.t) LIMIT 1',
    "SELECT * FROM dictionary('other.d')",
    "SELECT * FROM input('a String')",
    'SELECT * FROM mergeTreeIndex(other, t)',
    "SELECT * FROM filesystem('/etc')",
    "SELECT * FROM format(LineAsString, 'x')",
    "SELECT * FROM `file`('@FILE', LineAsString)",
    "SELECT * FROM FILE('@FILE', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT * FROM merge('not_.*')",
    "SELECT 1 IN (SELECT * FROM merge(currentDatabase(), 'not_listed'))",
    'SELECT * FROM zeros(1)',
    'SELECT * FROM generateRandom() LIMIT 1',
    "SELECT * FROM parameterised(x = 'y')",
  ],
  functions: [
    "SELECT file('@FILE')",
    "SELECT `file`('@FILE')",
    "SELECT/**/file/**/('@FILE')",
    "SELECT dictGet('other.d', 'a', 1)",
    "SELECT joinGet('other.t', 'a', 'x')",
    "SELECT catboostEvaluate('@FILE', 1)",
    "SELECT hasColumnInTable('other', 't', 'a')",
    "SELECT filesystemAvailable(), hostName(), getServerPort('http_port'), getMacro('x'), serverUUID()",
    'SELECT addressToLine(1)',
    "SELECT aiGenerate('x')",
    'SELECT sleepEachRow(1)',
    "SELECT getSetting('max_threads')",
    'SELECT currentUser()',
    "SELECT getClientHTTPHeader('authorization')",
    "SELECT made('x')",
  ],
  nesting: [
    "SELECT (SELECT file('@FILE'))",
    "SELECT 1 WHERE 1 IN (SELECT length(file('@FILE')))",
    "WITH x AS (SELECT file('@FILE') AS y) SELECT * FROM x",
    "WITH file('@FILE') AS y SELECT y",
    "SELECT arrayMap(x -> file(x), ['@FILE'])",
    "SELECT arrayMap(file, ['@FILE'])",
    "WITH file AS f SELECT arrayMap(f, ['@FILE'])",
    "SELECT * APPLY(x -> file('@FILE')) FROM scores",
    "SELECT COLUMNS('Reason') APPLY(file) FROM scores",
    "SELECT * REPLACE (file('@FILE') AS Reason) FROM scores",
    "SELECT 1 ORDER BY file('@FILE')",
    "SELECT 1 LIMIT (SELECT length(file('@FILE')))",
    "SELECT 1 GROUP BY GROUPING SETS ((file('@FILE')))",
    "SELECT sum(1) OVER w FROM scores WINDOW w AS (ORDER BY file('@FILE'))",
    "SELECT 1 AS x FROM scores QUALIFY file('@FILE') = ''",
    "SELECT 1 ORDER BY 1 WITH FILL FROM length(file('@FILE')) TO 2",
    "SELECT * FROM scores AS a JOIN scores AS b ON a.Reason = file('@FILE')",
    "SELECT 1 UNION ALL SELECT length(file('@FILE'))",
    "SELECT 1 EXCEPT SELECT length(file('@FILE'))",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT length(file('@FILE')) FROM r) SELECT * FROM r",
    "EXPLAIN SELECT (SELECT file('@FILE'))",
    "EXPLAIN AST SELECT 1 INTO OUTFILE '@OUT'",
    'SELECT * FROM (EXPLAIN SELECT 1)',
    "DESCRIBE (SELECT file('@FILE'))",
    "DESCRIBE TABLE file('@FILE', 'LineAsString')",
    "SHOW TABLES WHERE file('@FILE') != ''",
    'SELECT $$x$$, file($$@FILE$$)',
    "SELECT 'it\\'s', file('@FILE')",
    "SELECT 1 -- \n, file('@FILE')",
    "SELECT 1 # x\n, file('@FILE')",
  ],
  'other tables': [
    'SELECT * FROM other.t',
    'SELECT * FROM not_listed',
    'SELECT * FROM spanscore.not_listed AS scores',
    'SELECT * FROM scores AS a JOIN not_listed AS b ON 1',
    'SELECT * FROM scores, `not_listed`',
    "SELECT 'x' IN not_listed",
    "SELECT nullIn('x', spanscore.not_listed)",
    "WITH not_listed AS z SELECT 'x' IN z",
    "WITH spanscore.not_listed AS z SELECT 'x' IN (z)",
    "SELECT arrayMap(x -> x NOT IN not_listed, ['x'])",
    "SELECT 'x' IN (SELECT a FROM not_listed)",
    "SELECT 'x' = ANY (SELECT a FROM other.t)",
    "SELECT 'x' IN `dotted.name`.t",
    'SELECT * FROM cookie_keys',
    'SELECT Key FROM (WITH scores AS (SELECT 1) SELECT * FROM cookie_keys)',
    'WITH cookie_keys AS (SELECT 1) SELECT * FROM cookie_keys',
    'SELECT * FROM system.query_log',
    'SELECT * FROM INFORMATION_SCHEMA.TABLES',
    'SELECT * FROM system.tables',
    'SELECT * FROM system.one',
    'SELECT * FROM view_of_b',
    "SELECT 1 WHERE 'x' IN other.t",
    "SELECT * FROM not_listed UNION ALL (WITH not_listed AS (SELECT 'x' AS a) SELECT * FROM not_listed)",
    'SELECT * FROM trace_arrivals_of_spans',
    'SELECT * FROM schema_version',
    'SELECT * FROM system.processes',
    'SELECT * FROM system.users',
    'SELECT * FROM system.grants',
    'SELECT * FROM system.server_settings',
    'SELECT * FROM system.named_collections',
    'SELECT * FROM system.parts',
    'SELECT * FROM system.stack_trace',
    'SELECT * FROM `system`.`processes`',
    'SELECT * FROM information_schema.tables',
    "SELECT 1 WHERE 'x' IN system.users",
    'SHOW CREATE TABLE other.t',
    'DESCRIBE other.t',
    'SHOW PROCESSLIST',
    'SHOW GRANTS',
  ],
  'clauses and statements': [
    "SELECT 1 INTO OUTFILE '@OUT'",
    "SELECT 1 INTO OUTFILE '@OUT' FORMAT CSV",
    "SELECT 1 FORMAT CSV INTO OUTFILE '@OUT'",
    "SELECT (SELECT 1 INTO OUTFILE '@OUT')",
    "SHOW TABLES INTO OUTFILE '@OUT'",
    'SELECT 1 SETTINGS readonly = 0',
    'SELECT 1 SETTINGS max_memory_usage = 0',
    'SELECT 1 FORMAT CSV SETTINGS readonly = 0',
    'SELECT * FROM (SELECT 1 SETTINGS readonly = 0)',
    'SELECT * FROM scores SETTINGS additional_table_filters = {}',
    'SET readonly = 0',
    'SET ROLE spanscore_owner',
    'SET ROLE ALL',
    'USE other',
    "INSERT INTO scores (Reason) VALUES ('x')",
    'INSERT INTO scores SELECT * FROM scores',
    "INSERT INTO FUNCTION file('@OUT', CSV, 'a String') SELECT 'x'",
    'CREATE TABLE made (a String) ENGINE = Memory',
    'CREATE TEMPORARY TABLE made (a String)',
    'CREATE VIEW made AS SELECT 1',
    "CREATE FUNCTION made AS () -> file('@FILE')",
    "CREATE DICTIONARY made (a String) PRIMARY KEY a SOURCE(FILE(path '@FILE' format CSV)) LAYOUT(FLAT())",
    'ALTER TABLE scores DELETE WHERE 1',
    'DELETE FROM scores WHERE 1',
    'TRUNCATE TABLE scores',
    'DROP TABLE scores',
    'OPTIMIZE TABLE scores',
    'SYSTEM SHUTDOWN',
    'KILL QUERY WHERE 1 ASYNC',
    "BACKUP TABLE scores TO File('backup')",
    'EXECUTE AS default SELECT 1',
    'GRANT ALL ON *.* TO default',
    'ATTACH TABLE x',
    'SELECT 1 PARALLEL WITH SELECT 2',
    'SELECT 1 FORMAT JSON',
    'SELECT {x:String}',
    'SHOW TABLES',
    'DESCRIBE scores',
    'EXPLAIN SELECT 1',
    'EXISTS TABLE scores',
    'SELECT 1 AS `x\n  TableIdentifier scores`',
    'WITH 1 AS x INSERT INTO scores (Reason) SELECT x',
    'SELECT 1; SELECT * FROM other.t',
    'SELECT 1) , (SELECT * FROM other.t',
    "SELECT 1 /*'*/; DROP TABLE scores --'*/",
    '',
    'VALUES (1)',
  ],
};

describe('a statement of a person', () => {
  it.each(Object.keys(ESCAPES))('gets nothing by %s', async (kind) => {
    for (const escape of ESCAPES[kind] ?? []) {
      const query = escape.replaceAll('@FILE', secretFile).replaceAll('@OUT', outFile);
      expect([escape, await refusal(query)]).toEqual([escape, expect.stringMatching(/^query: /u)]);
    }
    expect(existsSync(outFile)).toBe(false);
  });
});
