import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testEngine, type TestEngine } from '../../../support/store/engine.ts';
import { until } from '../../../support/until.ts';

let engine: TestEngine;
let client: ClickHouseClient;
const database = `engine_${randomUUID().replaceAll('-', '')}`;

function connect(options: Parameters<typeof createClient>[0] = {}): ClickHouseClient {
  const { url, username, password } = engine;
  return createClient({
    url,
    username,
    password,
    database,
    log: { level: ClickHouseLogLevel.OFF },
    ...options,
  });
}

async function rows<T>(query: string, options: Partial<Parameters<ClickHouseClient['query']>[0]> = {}) {
  const result = await client.query({ ...options, query, format: 'JSONEachRow' });
  return result.json<T>();
}

async function table(columns: string): Promise<string> {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const settings = 'SETTINGS non_replicated_deduplication_window = 1000';
  await client.command({
    query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple() ${settings}`,
  });
  return name;
}

async function count(name: string): Promise<number> {
  const [row] = await rows<{ n: string | number }>(`SELECT count() AS n FROM ${name}`);
  return Number(row?.n);
}

function raw(
  query: string,
  init: RequestInit = {},
  parameters: Record<string, string> = {},
): Promise<Response> {
  const search = new URLSearchParams({ database, ...(query === '' ? {} : { query }), ...parameters });
  const basic = Buffer.from(`${engine.username}:${engine.password}`).toString('base64');
  const headers = {
    authorization: `Basic ${basic}`,
    ...(init.headers as Record<string, string> | undefined),
  };
  return fetch(`${engine.url}/?${search.toString()}`, { method: 'POST', ...init, headers });
}

beforeAll(async () => {
  engine = await testEngine();
  const admin = connect({ database: 'default' });
  await admin.command({ query: `CREATE DATABASE ${database} ENGINE = Atomic` });
  await admin.close();
  client = connect();
});

afterAll(async () => {
  await client.command({ query: `DROP DATABASE ${database}` });
  await client.close();
  await engine.stop();
});

describe('the unmodified client against the engine', () => {
  it('has rows of many partitions rewritten without a sleep of the engine after each few of them', async () => {
    const name = `t_${randomUUID().replaceAll('-', '')}`;
    await client.command({
      query: `CREATE TABLE ${name} (n UInt32) ENGINE = MergeTree PARTITION BY intDiv(n, 10) ORDER BY n`,
    });
    for (const from of [0, 600]) {
      await client.command({ query: `INSERT INTO ${name} SELECT number + ${from} FROM numbers(600)` });
    }
    await client.command({ query: `ALTER TABLE ${name} DELETE WHERE n % 2 = 0 SETTINGS mutations_sync = 2` });
    expect(await count(name)).toBe(600);
    // Of 120 parts, the sleeps alone are 100 s.
  }, 60_000);

  it('is answered when it pings', async () => {
    expect(await client.ping()).toEqual({ success: true });
    expect(await client.ping({ select: true })).toEqual({ success: true });
  });

  it('works in its own database', async () => {
    expect(await rows('SELECT currentDatabase() AS d')).toEqual([{ d: database }]);
  });

  it('gets an error for a database that does not exist', async () => {
    const lost = connect({ database: 'nowhere' });

    await expect(lost.query({ query: 'SELECT 1' })).rejects.toMatchObject({ type: 'UNKNOWN_DATABASE' });

    await lost.close();
  });

  it('binds parameters of every shape without touching the text', async () => {
    const parameters = {
      text: "it's a\ttab, a \\ and a\nline; {text:String} 'ü",
      list: ["q'", '\\', ''],
      map: { "k'": 'v\n' },
      none: null,
      big: '18446744073709551615',
      at: '2026-11-21 07:05:18.123456789',
      from: 'one',
    };

    const [row] = await rows<Record<string, unknown>>(
      `SELECT {text:String} AS text, {list:Array(String)} AS list, {map:Map(String, String)} AS map,
        {none:Nullable(String)} AS none, toString({big:UInt64}) AS big, toString({at:DateTime64(9)}) AS at
        FROM system.{from:Identifier} WHERE '{ignored:String}' != '' -- {comment:String}`,
      { query_params: parameters },
    );

    const { from: _table, ...expected } = parameters;
    expect(row).toEqual(expected);
  });

  it('binds long parameters that travel in a multipart body', async () => {
    const ids = Array.from({ length: 2_000 }, () => randomUUID());

    const [row] = await rows('SELECT length({ids:Array(String)}) AS n', {
      query_params: { ids },
      use_multipart_params: true,
    });
    const [inUrl] = await rows('SELECT length({ids:Array(String)}) AS n', { query_params: { ids } });

    expect(Number((row as { n: string }).n)).toBe(2_000);
    expect(inUrl).toEqual(row);
  });

  it('gets an error for a parameter that is not set, after any statement', async () => {
    await Promise.all(
      Array.from({ length: 20 }, () => rows('SELECT {p:UInt8} AS p', { query_params: { p: 1 } })),
    );

    await expect(rows('SELECT {p:UInt8} AS p')).rejects.toMatchObject({ type: 'UNKNOWN_QUERY_PARAMETER' });
  });

  it('gets a whole reply or an error when it waits for the end of a query', async () => {
    const body = 'SELECT throwIf(number = 450000) FROM numbers(500000)';

    const reply = await raw('', { body }, { wait_end_of_query: '1' });

    expect(reply.status).toBe(500);
    expect(reply.headers.get('x-clickhouse-exception-code')).toBe('395');
  });

  it('reads every kind of format', async () => {
    const json = await client.query({ query: 'SELECT number AS n FROM numbers(70000)', format: 'JSON' });
    const csv = await client.query({
      query: 'SELECT number AS n FROM numbers(70000)',
      format: 'CSVWithNames',
    });

    expect((await json.json<{ n: unknown }>()).data).toHaveLength(70_000);
    expect((await csv.text()).split('\n').filter((line) => line === '"n"')).toHaveLength(1);
  });

  it('streams a large result in pieces', async () => {
    const result = await client.query({ query: 'SELECT number FROM numbers(500000)', format: 'JSONEachRow' });
    let received = 0;
    let pieces = 0;
    for await (const batch of result.stream()) {
      received += batch.length;
      pieces++;
    }

    expect(received).toBe(500_000);
    expect(pieces).toBeGreaterThan(1);
  });

  it('gets an error in the middle of a result instead of the result', async () => {
    const query = 'SELECT throwIf(number = 450000) FROM numbers(500000)';

    await expect(client.query({ query, format: 'JSONEachRow' })).rejects.toThrow('non-zero');
  });

  it('gets a result behind a comment, and the counts of any result', async () => {
    const reply = await raw('', { body: '-- a\n(SELECT number FROM numbers(2)) -- FORMAT CSV' });

    expect(await reply.text()).toBe('0\n1\n');
    expect(JSON.parse(reply.headers.get('x-clickhouse-summary') ?? '')).toMatchObject({ result_rows: '2' });
  });

  it('inserts objects, streams and RowBinary, compressed or not', async () => {
    const name = `t_${randomUUID().replaceAll('-', '')}`;
    await client.command({
      query: `CREATE TABLE ${name} (a UInt64, s String) ENGINE = MergeTree ORDER BY a`,
    });
    const squeezed = connect({ compression: { request: true, response: true } });
    const binary = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 4, 10, 10, 39, 59]);

    for (const each of [client, squeezed]) {
      await each.insert({ table: name, values: [{ a: 1, s: 'x\n\ny' }], format: 'JSONEachRow' });
      await each.insert({ table: name, values: Readable.from([{ a: 2, s: 'z' }]), format: 'JSONEachRow' });
      const query = `INSERT INTO ${name} (a, s) FORMAT RowBinary`;
      const { stream } = await each.exec({ query, values: Readable.from([binary], { objectMode: false }) });
      stream.resume();
    }

    const result = await squeezed.query({
      query: `SELECT a, s FROM ${name} ORDER BY a`,
      format: 'JSONCompactEachRow',
    });
    const values = (await result.json<[unknown, string]>()).map(([a, s]) => [Number(a), s]);
    expect(values).toEqual([
      [1, 'x\n\ny'],
      [1, 'x\n\ny'],
      [2, 'z'],
      [2, 'z'],
      [3, "\n\n';"],
      [3, "\n\n';"],
    ]);
    await squeezed.close();
  });

  it('counts what it wrote', async () => {
    const name = await table('a UInt64');

    const { summary } = await client.insert({
      table: name,
      values: [{ a: 1 }, { a: 2 }],
      format: 'JSONEachRow',
    });

    expect(summary?.written_rows).toBe('2');
  });

  it('inserts values that stand in the text of the statement', async () => {
    const name = await table('a UInt64, s String');

    await client.command({ query: `INSERT INTO ${name} VALUES (1, 'a;b'), (1 + 1, 'c')` });
    await client.command({ query: `INSERT INTO ${name} FORMAT JSONEachRow\n{"a":3,"s":"ü"}` });
    await client.command({ query: `INSERT INTO ${name} SELECT 4, 'd'` });

    expect(await rows(`SELECT s FROM ${name} ORDER BY a`)).toEqual([
      { s: 'a;b' },
      { s: 'c' },
      { s: 'ü' },
      { s: 'd' },
    ]);
  });

  it('leaves nothing of a batch with one bad row', async () => {
    const name = await table('a UInt64');
    const lines = `${Array.from({ length: 1_000 }, (_, a) => `{"a":${a}}`).join('\n')}\n{"a":"bad"}\n`;

    const reply = await raw(`INSERT INTO ${name} FORMAT JSONEachRow`, { body: lines });

    expect(reply.status).toBe(400);
    expect(await count(name)).toBe(0);
  });

  it('stores nothing of a body that breaks off', async () => {
    const name = await table('a UInt64');
    const search = new URLSearchParams({ database, query: `INSERT INTO ${name} FORMAT JSONEachRow` });
    const auth = `${engine.username}:${engine.password}`;
    const sending = request(`${engine.url}/?${search.toString()}`, { method: 'POST', auth });
    const broken = once(sending, 'error');

    sending.write('{"a":1}\n');
    await once(sending, 'socket');
    await client.ping();
    sending.destroy(new Error('gone'));

    await broken;
    await client.insert({ table: name, values: [{ a: 2 }], format: 'JSONEachRow' });
    expect(await count(name)).toBe(1);
  });

  it('drops a repeated batch by its token, in the table and behind its view', async () => {
    const name = await table('a UInt64');
    const derived = await table('a UInt64');
    await client.command({
      query: `CREATE MATERIALIZED VIEW v_${derived} TO ${derived} AS SELECT a FROM ${name}`,
    });
    const clickhouse_settings = {
      async_insert: 0,
      insert_deduplication_token: 'batch-1',
      deduplicate_blocks_in_dependent_materialized_views: 1,
    } as const;

    for (let attempt = 0; attempt < 3; attempt++) {
      await client.insert({ table: name, values: [{ a: 7 }], format: 'JSONEachRow', clickhouse_settings });
    }
    await client.insert({ table: name, values: [{ a: 7 }], format: 'JSONEachRow' });

    expect(await count(name)).toBe(2);
    expect(await count(derived)).toBe(2);
  });
});

describe('settings', () => {
  it('hold for their own query and leak into no other', async () => {
    const read = (): Promise<{ t: unknown }[]> => rows("SELECT toString(getSetting('max_block_size')) AS t");
    const [usual] = await read();

    for (let round = 0; round < 20; round++) {
      const [set] = await rows<{ t: unknown }>("SELECT toString(getSetting('max_block_size')) AS t", {
        clickhouse_settings: { max_block_size: '777' },
      });
      expect(set?.t).toBe('777');
    }
    await client.command({ query: 'SET max_block_size = 778' });

    for (let round = 0; round < 20; round++) {
      expect((await read())[0]).toEqual(usual);
    }
  });

  it('yield to those that the query itself names', async () => {
    const [row] = await rows<{ t: unknown }>(
      "SELECT toString(getSetting('max_block_size')) AS t SETTINGS max_block_size = 5",
      { clickhouse_settings: { max_block_size: '777' } },
    );

    expect(row?.t).toBe('5');
  });

  it('do not lock a connection for good', async () => {
    const name = await table('a UInt64');
    for (let round = 0; round < 20; round++) {
      await rows('SELECT 1', { clickhouse_settings: { readonly: '2' } });
    }

    for (let round = 0; round < 20; round++) {
      await client.command({
        query: `INSERT INTO ${name} SELECT 1`,
        clickhouse_settings: { max_threads: 1 },
      });
    }

    expect(await count(name)).toBe(20);
  });

  it('with unknown names are refused as a server refuses them', async () => {
    const reply = await raw('SELECT 1', {}, { no_such_setting: '1' });

    expect(reply.status).toBe(404);
    expect(reply.headers.get('x-clickhouse-exception-code')).toBe('115');
  });

  it('end a query that runs too long', async () => {
    const endless = rows('SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1', {
      clickhouse_settings: { max_execution_time: 1 },
    });

    await expect(endless).rejects.toMatchObject({ type: 'TIMEOUT_EXCEEDED' });
  });
});

describe('data that looks like SQL', () => {
  it.each(['JSONEachRow', 'CSV', 'TabSeparated', 'RowBinary', 'Values'])(
    'in %s never reaches the SQL parser',
    async (format) => {
      const victim = await table('a UInt64');
      const target = await table('s String');
      const bodies = [
        `{"s":"x"}\n\nDROP TABLE ${victim}\n`,
        `x\n\nDROP TABLE ${victim}\n`,
        `('x');\nDROP TABLE ${victim};\n`,
        `\u0001x\n\n;DROP TABLE ${victim}`,
      ];

      for (const body of bodies) {
        await (await raw(`INSERT INTO ${target} FORMAT ${format}`, { body })).text();
        await (await raw('', { body: `INSERT INTO ${target} FORMAT ${format}\n${body}` })).text();
        const headers = { 'content-encoding': 'gzip' };
        await (await raw(`INSERT INTO ${target} FORMAT ${format}`, { body: gzipSync(body), headers })).text();
      }

      expect(await count(victim)).toBe(0);
    },
  );

  it('after a semicolon refuses the whole statement', async () => {
    const victim = await table('a UInt64');

    const reply = await raw('', { body: `SELECT 1; DROP TABLE ${victim}` });

    expect(reply.status).toBe(400);
    expect(reply.headers.get('x-clickhouse-exception-code')).toBe('62');
    expect(await count(victim)).toBe(0);
  });

  it('in quotes and comments is no second statement', async () => {
    const text = "SELECT ';' AS a, `b;` FROM (SELECT 1 AS `b;`) /* ; DROP */ -- ; DROP\n;;\n";

    const reply = await raw('', { body: text }, { default_format: 'JSONEachRow' });

    expect(await reply.json()).toEqual({ a: ';', 'b;': 1 });
  });
});

describe('errors', () => {
  it.each([
    ['SELECT * FROM nope', 404, '60'],
    ['SELECT nope', 404, '47'],
    ['SELEC 1', 400, '62'],
    ['', 400, '62'],
    ["SELECT toUInt8('x')", 400, '6'],
    ['SELECT throwIf(1)', 500, '395'],
  ])('of %j have status and code of a server', async (body, status, code) => {
    const reply = await raw('', { body });

    expect(reply.status).toBe(status);
    expect(reply.headers.get('x-clickhouse-exception-code')).toBe(code);
    expect(await reply.text()).toMatch(new RegExp(`^Code: ${code}\\. DB::Exception: `, 'u'));
  });

  it('refuse a wrong password, in headers and in the URL', async () => {
    const wrong = connect({ password: 'wrong' });

    await expect(wrong.query({ query: 'SELECT 1' })).rejects.toMatchObject({ code: '516' });
    expect((await fetch(`${engine.url}/?query=SELECT+1`)).status).toBe(403);
    expect((await fetch(`${engine.url}/?query=SELECT+1&user=default&password=x`)).status).toBe(403);
    await wrong.close();
  });

  it('do not stand in the way of the right password in any of its places', async () => {
    const { url, username, password } = engine;
    const headers = { 'x-clickhouse-user': username, 'x-clickhouse-key': password };
    const inUrl = new URLSearchParams({ query: 'SELECT 1', user: username, password });

    expect((await fetch(`${url}/?query=SELECT+1`, { headers })).status).toBe(200);
    expect((await fetch(`${url}/?${inUrl.toString()}`)).status).toBe(200);
  });

  it('leave no part of a broken reply in later replies', async () => {
    const body = 'SELECT throwIf(number = 450000) FROM numbers(500000)';

    for (let round = 0; round < 10; round++) {
      for (const wait_end_of_query of ['0', '1']) {
        await (await raw('', { body }, { wait_end_of_query })).text().catch(() => 'broken off');
      }
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => raw('', { body: 'SELECT 7 FORMAT CSV' })),
      );
      expect(await Promise.all(replies.map((reply) => reply.text()))).toEqual(replies.map(() => '7\n'));
    }
  });

  it('are sent for requests that are not understood, and the engine continues', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect((await raw('', { body: 'no gzip', headers })).status).toBe(400);
    expect((await raw('', { body: 'x', headers: { 'content-encoding': 'rot13' } })).status).toBe(501);
    expect((await raw('SELECT 1', { body: 'data that nobody asked for' })).status).toBe(400);
    expect((await raw('SELECT 1', {}, { 'a b': '1' })).status).toBe(400);
    expect((await fetch(`${engine.url}//x?%%%`, { method: 'POST' })).status).toBe(404);
    expect(await client.ping()).toEqual({ success: true });
  });

  it('refuse to write by GET', async () => {
    const reply = await raw('CREATE TABLE by_get (a UInt8) ENGINE = Memory', { method: 'GET' });

    expect(reply.headers.get('x-clickhouse-exception-code')).toBe('164');
  });
});

describe('many requests at once', () => {
  it('cancels a statement whose client no longer waits', async () => {
    const gone = new AbortController();
    const query = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 2';
    const running = async (): Promise<number> => {
      const found = await rows<{ n: string | number }>(
        "SELECT count() AS n FROM system.processes WHERE query LIKE '%sipHash64(number) = 2%' AND NOT is_cancelled AND query NOT LIKE '%processes%'",
      );
      return Number(found[0]?.n);
    };

    const endless = client.query({ query, format: 'JSONEachRow', abort_signal: gone.signal });
    const outcome = endless.then(
      () => 'answered',
      (error: unknown) => String(error),
    );
    await until(async () => (await running()) === 1);
    gone.abort();

    expect(await outcome).toContain('abort');
    await until(async () => (await running()) === 0);
  });

  it('frees the place of a reader that leaves in the middle of a reply', async () => {
    for (let round = 0; round < 20; round++) {
      const gone = new AbortController();
      const result = await client.query({
        query: 'SELECT number, repeat(toString(number), 20) FROM numbers(200000)',
        format: 'JSONEachRow',
        abort_signal: gone.signal,
      });
      result.close();
      gone.abort();
    }

    expect(await rows('SELECT 1 AS x')).toEqual([{ x: 1 }]);
  });

  it.each([
    'SELECT number, (SELECT sum(sipHash64(number)) FROM numbers(20000000000)) AS total FROM numbers(3)',
    'EXPLAIN SELECT (SELECT sum(sipHash64(number)) FROM numbers(20000000000)) FROM numbers(3)',
    "SELECT arraySum(arrayMap(x -> editDistance(repeat('ab', 4000), concat(repeat('ba', 4000), toString(x))), range(12)))",
  ])('answers others while %j is analysed', async (body) => {
    const startedMs = performance.now();
    const ended = raw('', { body }, { max_execution_time: '2' }).then(() => performance.now() - startedMs);
    const waits: number[] = [];
    const isOver = () => Promise.race([ended.then(() => true), sleep(20, false)]);
    while (!(await isOver())) {
      const sentMs = performance.now();
      await fetch(`${engine.url}/ping`);
      waits.push(performance.now() - sentMs);
    }

    expect(Math.max(...waits)).toBeLessThan((await ended) / 2);
  });

  it('lets inserts pass slow queries', async () => {
    const name = await table('a UInt64');
    const gone = new AbortController();
    const greedy = connect({ max_open_connections: 12 });
    const slow = Array.from({ length: 12 }, () =>
      greedy
        .query({
          query: 'SELECT count() FROM numbers(1000000000000) WHERE sleepEachRow(0.001) = 3',
          clickhouse_settings: { max_execution_time: 60, max_block_size: '10' },
          abort_signal: gone.signal,
        })
        .then(
          () => 'done',
          () => 'gone',
        ),
    );

    await Promise.all(
      Array.from({ length: 8 }, (_, a) =>
        client.insert({ table: name, values: [{ a }], format: 'JSONEachRow' }),
      ),
    );
    gone.abort();

    expect(await Promise.all(slow)).toEqual(slow.map(() => 'gone'));
    expect(await count(name)).toBe(8);
    await greedy.close();
  });

  it('keeps parameters and databases of different requests apart', async () => {
    const ask = async (n: number): Promise<string> => {
      const [row] = await rows<{ p: string }>('SELECT {p:String} AS p, currentDatabase() AS d', {
        query_params: { p: `v${n}` },
      });
      return row?.p ?? '';
    };

    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(n)));

    expect(answers).toEqual(answers.map((_, n) => `v${n}`));
  });
});

describe('a backup', () => {
  it('is written below the folder of backups, is restored from there, and is written nowhere else', async () => {
    const [name, copy] = [await table('n UInt8'), `copy_${randomUUID().replaceAll('-', '')}`];
    await client.insert({ table: name, values: [{ n: 7 }], format: 'JSONEachRow' });
    expect(await (await raw(`BACKUP TABLE ${name} TO File('${copy}')`)).text()).toContain('BACKUP_CREATED');
    const restored = await raw(
      `RESTORE TABLE ${database}.${name} AS ${database}.${copy} FROM File('${copy}')`,
    );
    expect(await restored.text()).toContain('RESTORED');
    expect(await count(copy)).toBe(1);
    for (const path of [`/tmp/${copy}`, `../${copy}`]) {
      expect([path, (await raw(`BACKUP TABLE ${name} TO File('${path}')`)).status]).toEqual([path, 400]);
    }
  });
});
