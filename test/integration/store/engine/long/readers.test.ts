import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../../src/store/embedded/engine.ts';
import { readableTables } from '../../../../../src/store/schema/readable-tables.ts';
import { openStore } from '../../../../../src/store/store.ts';
import { runCommand } from '../../../../support/store/clickhouse-query.ts';
import { fillTable, listTables } from '../../../../support/store/filled-tables.ts';

// Readers get the rows that they may read, and nothing else of the machine, the engine or other tenants.

const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-readers-'));
const secretFile = join(dataDir, 'secret.txt');
const outFile = join(dataDir, 'out.txt');
const database = 'spanscore';
const ANALYST = { username: 'analyst', password: 'all rows' };
const TENANT = { username: 'tenant-a', password: 'rows of a', tenant: 'a' };
let engine: EmbeddedEngine;

beforeAll(async () => {
  const tables = readableTables();
  engine = await startEmbeddedEngine({
    dataDir,
    readers: [
      { ...ANALYST, database, tables: tables.map(({ name }) => name) },
      { ...TENANT, database, tables: tables.filter(({ hasTenant }) => hasTenant).map(({ name }) => name) },
    ],
  });
  const address = { ...engine, url: engine.url, database };
  const store = await openStore({ ...address, retention: { spansDays: 30, scoresDays: 400 } });
  await store.close();
  writeFileSync(secretFile, 'the secret of the machine\n');
  mkdirSync(join(dataDir, 'clickhouse', 'user_files'), { recursive: true });
  for (const table of await listTables(address)) {
    await fillTable(address, table, 6, {
      Tenant: "if(number % 2 = 0, 'a', 'b')",
      Reason: "if(number % 2 = 0, 'of a', 'secret of b')",
      ...(table.table === 'scores' ? { IsDeleted: '0' } : {}),
    });
  }
  await runCommand(address, 'CREATE DATABASE other');
  await runCommand(address, 'CREATE TABLE other.t (a String) ENGINE = MergeTree ORDER BY a');
  await runCommand(address, "INSERT INTO other.t VALUES ('secret of another database')");
  await runCommand(address, 'CREATE TABLE not_listed (a String) ENGINE = MergeTree ORDER BY a');
  await runCommand(address, "INSERT INTO not_listed VALUES ('secret of a table')");
  await runCommand(address, "CREATE VIEW view_of_b AS SELECT Reason FROM scores WHERE Tenant = 'b'");
}, 120_000);

afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(
  user: { username: string; password: string },
  sql: string,
  parameters: Record<string, string> = {},
  init: RequestInit = {},
): Promise<Answer> {
  const basic = Buffer.from(`${user.username}:${user.password}`).toString('base64');
  const reply = await fetch(`${engine.url}/?${new URLSearchParams(parameters).toString()}`, {
    method: 'POST',
    body: sql,
    ...init,
    headers: { authorization: `Basic ${basic}`, ...(init.headers as Record<string, string> | undefined) },
  });
  return { status: reply.status, text: (await reply.text().catch(() => 'broken off')).trim() };
}

describe('a reader', () => {
  it('cannot read the key of sign-ins', async () => {
    const { status, text } = await ask(ANALYST, 'SELECT Key FROM cookie_keys');
    expect([status, text]).toEqual([403, expect.stringContaining('ACCESS_DENIED')]);
  });

  it('reads every table by SELECT, WITH, joins, windows, parameters and formats', async () => {
    for (const { name } of readableTables()) {
      const { status, text } = await ask(ANALYST, `SELECT count() FROM ${name}`);
      expect([name, status, Number(text) > 0]).toEqual([name, 200, true]);
    }
    const answers = await Promise.all([
      ask(
        ANALYST,
        `/* a comment */ WITH of_a AS (SELECT * FROM scores FINAL WHERE Tenant = 'a' -- and another
         ) SELECT round(avg(s.Score), 2) AS mean, quantile(0.5)(s.Score), countIf(d.Status != ''), max(rank) FROM (
         SELECT *, rank() OVER (PARTITION BY Scorer ORDER BY Score) AS rank FROM of_a) AS s
         LEFT JOIN spanscore.decisions AS d USING (TraceId) WHERE s.Score BETWEEN 0 AND {high:Float64}
         AND s.TraceId IN (SELECT TraceId FROM otel_traces) FORMAT TSV`,
        { param_high: '1000' },
      ),
      ask(ANALYST, '(SELECT 1 AS x) UNION ALL SELECT number FROM numbers(2)', {
        default_format: 'CSV',
      }),
      ask(ANALYST, "SELECT arrayMap(x -> x * 2, [1]), map('a', 1)['a'], toDate('2026-01-01')::String"),
      ask(ANALYST, 'SELECT * EXCEPT (Reason) FROM scores LIMIT 1 FORMAT JSON'),
    ]);

    expect(answers.map(({ status, text }) => [status, status === 200 ? '' : text])).toEqual(
      answers.map(() => [200, '']),
    );
    expect(answers[1]?.text.split('\n').sort()).toEqual(['0', '1', '1']);
    expect(answers[2]?.text).toBe('[2]\t1\t2026-01-01');
  });

  it('can list tables and columns', async () => {
    expect((await ask(ANALYST, 'SHOW TABLES')).text.split('\n')).toContain('scores');
    expect((await ask(ANALYST, 'SHOW TABLES')).text).not.toContain('not_listed');
    expect((await ask(ANALYST, 'DESCRIBE scores')).text).toContain('ScoreId\tUUID');
    expect((await ask(ANALYST, 'SHOW CREATE TABLE scores')).text).toContain('CREATE TABLE');
    expect((await ask(ANALYST, 'EXISTS TABLE scores')).text).toBe('1');
    expect((await ask(ANALYST, 'EXPLAIN indexes = 1 SELECT * FROM scores')).status).toBe(200);
    expect((await ask(ANALYST, 'SELECT currentDatabase()', { database: 'default' })).text).toBe(database);
    expect(
      (await ask(ANALYST, "SELECT name FROM system.columns WHERE table = 'scores'")).text.split('\n'),
    ).toContain('Reason');
  });

  it('is greeted as clients ask for it', async () => {
    const settings = 'SELECT name, value, readonly FROM system.settings LIMIT 10000';
    const ofConnect = await ask(ANALYST, `${settings}\n FORMAT Native`, {
      client_protocol_version: '54405',
      session_id: 'x',
    });
    const ofGo = await ask(ANALYST, 'SELECT displayName(), version(), revision(), timezone()', {
      client_protocol_version: '54460',
      default_format: 'Native',
      compress: '1',
      max_execution_time: '35',
    });

    expect([ofConnect.status, ofGo.status]).toEqual([200, 200]);
    expect(ofConnect.text).toContain('max_threads');
  });

  it('may send settings that change a reply, and asks for no more than its limits', async () => {
    const asked = { max_execution_time: '0', max_threads: '1', output_format_json_quote_64bit_integers: '1' };
    const settings =
      "getSetting('max_execution_time'), getSetting('max_threads'), getSetting('max_memory_usage') > 0";

    expect((await ask(ANALYST, `SELECT ${settings}`, asked)).text).toBe('60\t1\t1');
    expect((await ask(ANALYST, 'SELECT 1', { readonly: '2', session_id: 'x', compress: '0' })).text).toBe(
      '1',
    );
    expect((await ask(ANALYST, 'SELECT sleep(1)')).status).toBe(403);
    expect((await ask(ANALYST, 'SELECT number FROM numbers(10)', { max_result_rows: '3' })).text).toContain(
      'TOO_MANY_ROWS_OR_BYTES',
    );
  });

  it('needs its password', async () => {
    expect((await ask({ ...ANALYST, password: 'x' }, 'SELECT 1')).status).toBe(403);
    expect((await ask({ ...ANALYST, password: TENANT.password }, 'SELECT 1')).status).toBe(403);
    expect((await ask({ username: 'default', password: '' }, 'SELECT 1')).status).toBe(403);
  });
});

/** Ways out of what a reader may read, by what they try. `@FILE` is a file of the machine, `@OUT` one that must not come to be. */
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
    'SELECT 1; SELECT * FROM other.t',
    'SELECT 1) , (SELECT * FROM other.t',
    "SELECT 1 /*'*/; DROP TABLE scores --'*/",
    '',
    'VALUES (1)',
  ],
};

describe.each([
  ['all rows', ANALYST],
  ['one tenant', TENANT],
])('a reader of %s', (_, reader) => {
  it.each(Object.keys(ESCAPES))('gets nothing by %s', async (kind) => {
    for (const escape of ESCAPES[kind] ?? []) {
      const sql = escape.replaceAll('@FILE', secretFile).replaceAll('@OUT', outFile);
      const { status, text } = await ask(reader, sql);
      expect([escape, status >= 400, /the secret of|of another database/.test(text)]).toEqual([
        escape,
        true,
        false,
      ]);
      expect([escape, existsSync(outFile)]).toEqual([escape, false]);
    }
    expect((await ask(reader, 'SELECT count() > 0 FROM scores')).text).toBe('1');
  });

  it('gets no rows by parameters and headers beside the statement', async () => {
    const form = new FormData();
    form.set('other', new Blob(['x']), 'x.csv');
    form.set('other_structure', 'a String');
    const refused = await Promise.all([
      ask(reader, 'SELECT 1', { readonly: '0' }),
      ask(reader, 'SELECT 1', { database: 'other' }),
      ask(reader, 'SELECT 1', { database: 'system' }),
      ask(reader, 'SELECT 1', {}, { headers: { 'x-clickhouse-database': 'other' } }),
      ask(reader, 'SELECT 1', { default_format: `CSV INTO OUTFILE '${outFile}'` }),
      ask(reader, 'SELECT 1', { max_rows_to_read: '1' }),
      ask(reader, 'SELECT 1', { allow_introspection_functions: '1' }),
      ask(reader, 'SELECT 1', { additional_table_filters: '{}' }),
      ask(reader, 'SELECT 1', { output_format_schema: outFile, default_format: 'Protobuf' }),
      ask(reader, 'SELECT 1', { format_schema: secretFile }),
      ask(reader, 'SELECT 1', { allow_experimental_analyzer: '0' }),
      ask(reader, 'SELECT * FROM {t:Identifier}', { param_t: 'other.t' }),
      ask(reader, 'SELECT * FROM {d:Identifier}.{t:Identifier}', { param_d: 'system', param_t: 'users' }),
      ask(reader, "SELECT arrayMap({f:Identifier}, ['x'])", { param_f: 'file' }),
      ask(reader, 'SELECT {x:String}', { param_x: "x', readonly='0" }).then(({ text }) => ({
        status: text.includes("readonly='0") || text.includes("readonly=\\'0") ? 400 : 200,
        text: '',
      })),
      ask(reader, '', { query: 'SELECT * FROM other' }, { body: form }),
      fetch(`${engine.url}/?user=default&password=&query=SELECT+1`).then(async (reply) => ({
        status: reply.status,
        text: await reply.text(),
      })),
    ]);

    expect(refused.map(({ status }) => status >= 400)).toEqual(refused.map(() => true));
    expect(refused.some(({ text }) => /of another database|the secret of/.test(text))).toBe(false);
    expect(existsSync(outFile)).toBe(false);
  });

  it('leaves nothing behind for the next one', async () => {
    await ask(reader, 'SELECT 1', { max_block_size: '77' });

    expect((await ask(ANALYST, "SELECT getSetting('max_block_size') = 77")).text).toBe('0');
    expect((await ask(engine, "SELECT getSetting('readonly'), currentRoles()")).text).toContain(
      'spanscore_owner',
    );
  });
});

describe('a reader of one tenant', () => {
  it('sees rows of that tenant alone, in every table that has tenants', async () => {
    for (const { name } of readableTables().filter(({ hasTenant }) => hasTenant)) {
      const seen = await ask(TENANT, `SELECT DISTINCT toString(Tenant) FROM ${name}`);
      expect([name, seen.text]).toEqual([name, 'a']);
    }
    for (const { name } of readableTables().filter(({ hasTenant }) => !hasTenant)) {
      const refused = await ask(TENANT, `SELECT * FROM ${name}`);
      expect([name, refused.status]).toEqual([name, 403]);
    }
  });

  it.each([
    "SELECT count() FROM scores WHERE Tenant = 'b'",
    "SELECT count() FROM scores FINAL WHERE Tenant != 'a'",
    "SELECT countIf(Tenant = 'b') FROM scores AS x",
    "SELECT count() FROM (SELECT * FROM scores) WHERE Tenant = 'b'",
    "WITH s AS (SELECT * FROM scores) SELECT count() FROM s WHERE Tenant = 'b'",
    'SELECT count() FROM decisions AS d JOIN scores AS s ON s.Tenant != d.Tenant',
    "SELECT count() FROM decisions AS d LEFT JOIN scores AS s ON s.Reason = 'secret of b' WHERE s.Reason != ''",
    "SELECT count() FROM scores WHERE Reason IN (SELECT Reason FROM spanscore.scores WHERE Tenant = 'b')",
    "SELECT 'b' IN (SELECT Tenant FROM scores)",
    "SELECT max(Tenant = 'b') FROM scores",
    "SELECT (SELECT max(Tenant) FROM scores) = 'b'",
    "SELECT exists(SELECT 1 FROM scores WHERE Tenant = 'b')",
    "SELECT sum(c) FROM (SELECT Tenant, count() AS c FROM scores GROUP BY Tenant) WHERE Tenant = 'b'",
    "SELECT count() FROM {t:Identifier} WHERE Tenant = 'b'",
    "SELECT 'b' IN (SELECT arrayJoin(groupArray(Tenant)) FROM scores)",
  ])('is answered as if there were no other: %s', async (sql) => {
    expect((await ask(TENANT, sql, { param_t: 'scores' })).text).toBe('0');
    expect((await ask(ANALYST, sql, { param_t: 'scores' })).text).not.toBe('0');
  });

  it('counts only the rows of that tenant', async () => {
    expect((await ask(TENANT, 'SELECT count() FROM scores')).text).toBe('3');
    expect((await ask(TENANT, 'SELECT count() FROM scores FINAL')).text).toBe('3');
    expect((await ask(ANALYST, 'SELECT count() FROM scores')).text).toBe('6');
    expect((await ask(TENANT, 'SELECT min(Tenant), max(Tenant), uniq(Tenant) FROM scores')).text).toBe(
      'a\ta\t1',
    );
    expect((await ask(TENANT, 'SELECT DISTINCT Tenant FROM scores FORMAT JSON')).text).not.toMatch(
      /"b"|rows_read/,
    );
  });

  it.each([
    'SELECT toUInt8(Reason) FROM scores',
    'SELECT count() FROM scores WHERE toUInt8(Reason) = 1',
    'SELECT count() FROM scores FINAL WHERE toUInt8(Reason) = 1',
    'SELECT count() FROM scores PREWHERE toUInt8(Reason) = 1',
    'SELECT throwIf(1) FROM scores PREWHERE toUInt8(Reason) = 1',
    "SELECT count() FROM scores WHERE Tenant = 'b' AND toUInt8(Reason) = 1",
    'SELECT x.1 FROM (SELECT tuple(toUInt8(Reason)) AS x FROM scores)',
  ])('is not told of rows of others by an error: %s', async (sql) => {
    expect((await ask(TENANT, sql)).text).not.toContain('secret of b');
  });

  it.each([
    "SELECT count() FROM scores WHERE throwIf(Reason = 'secret of b') = 0",
    "SELECT count() FROM scores FINAL WHERE throwIf(Reason = 'secret of b') = 0",
    "SELECT count() FROM scores WHERE throwIf(Tenant = 'b') = 0",
    "SELECT sum(throwIf(Reason = 'secret of b')) + 3 FROM scores",
    "SELECT count() FROM (SELECT * FROM scores WHERE throwIf(Reason = 'secret of b') = 0)",
    "SELECT count() FROM scores WHERE (Score > -1000) AND throwIf(Reason = 'secret of b') = 0 AND Tenant = 'a'",
    "SELECT count() FROM scores AS a SEMI JOIN scores AS b ON a.ScoreId = b.ScoreId WHERE throwIf(b.Reason = 'secret of b') = 0",
    "SELECT count() FROM (SELECT Reason, count() FROM scores GROUP BY Reason, ScoreId HAVING throwIf(Reason = 'secret of b') = 0)",
    "SELECT countIf(throwIf(Reason = 'secret of b') = 0) FROM scores",
    "SELECT count() FROM scores WHERE intDiv(1, Reason != 'secret of b') = 1",
  ])('cannot ask by an error whether others have a row: %s', async (sql) => {
    expect(await ask(TENANT, sql)).toEqual({ status: 200, text: '3' });
  });

  it('does not see the number of rows', async () => {
    for (const sql of [
      'EXPLAIN ESTIMATE SELECT * FROM scores',
      'SELECT total_rows FROM system.tables',
      'SELECT max(_part_offset) FROM scores',
      'SELECT s._part, count() FROM scores AS s GROUP BY 1',
      'SELECT data_compressed_bytes FROM system.columns',
    ]) {
      expect([sql, (await ask(TENANT, sql)).status]).toEqual([sql, 403]);
    }
  });
});

describe('a backup', () => {
  it('is written below the data directory, and restored from there', async () => {
    expect((await ask(engine, "BACKUP DATABASE spanscore TO File('first')")).text).toContain(
      'BACKUP_CREATED',
    );
    expect(existsSync(join(dataDir, 'backups', 'first', '.backup'))).toBe(true);
    const restored = await ask(engine, "RESTORE TABLE spanscore.scores AS other.scores FROM File('first')");
    expect(restored.text).toContain('RESTORED');
    expect((await ask(engine, 'SELECT count() FROM other.scores')).text).toBe('6');
  });

  it('is written nowhere else', async () => {
    for (const path of ['/tmp/spanscore-backup', '../first', join(dataDir, 'clickhouse', 'first')]) {
      expect([path, (await ask(engine, `BACKUP DATABASE other TO File('${path}')`)).status]).toEqual([
        path,
        400,
      ]);
    }
    expect(readFileSync(secretFile, 'utf8')).toContain('secret');
  });
});
