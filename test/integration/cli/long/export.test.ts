import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MIB } from '../../../../src/domain/byte-sizes.ts';
import type { Database } from '../../../../src/store/database.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import type { QueryParams } from '../../../../src/store/values.ts';
import { createScoreExport } from '../../../../src/store/scores/score-export.ts';
import { emptyFolder, jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { queryRows, runCommand as runSql } from '../../../support/store/clickhouse-query.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import {
  buildScore,
  newTraceId,
  openEmptied,
  storeFlags,
  testStore,
  type TestStore,
} from '../../../support/store/store-rows.ts';

interface Statement {
  readonly sql: string;
  readonly params: QueryParams;
}

let base: TestStore;
let cwd: string;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());

beforeEach(async () => {
  await (await openEmptied(base.options)).close();
  cwd = emptyFolder();
});

const run = (...argv: string[]) => runCommand(['export', ...argv, ...storeFlags(base.options)], { cwd });

/** Stores a score with a run, a revised one without a run, and one of a session. Returns the trace id of the first. */
async function storeScores(scorer: string): Promise<string> {
  const traceId = newTraceId();
  const target = { traceId, target: 'trace', targetId: traceId } as const;
  const alone = buildScore({ scorer, score: 0.1, reason: 'first' });
  await base.store.scores.write([
    buildScore({ ...target, scorer, score: 0.25, reason: 'said "no",\nthen yes', inputTokens: 7 }),
    alone,
    buildScore({ scorer, score: 1, traceId: '', target: 'session', targetId: 's-1', sessionId: 's-1' }),
  ]);
  await base.store.scores.write([
    { ...alone, score: 0.9, reason: 'second', evidenceUntil: alone.evidenceUntil + 1, revision: 2 },
  ]);
  await base.store.runs.write([
    buildRunRecord({ ...target, models: ['a', 'b'], totalTokens: 42, costUsd: 0.5, status: 'ok' }),
  ]);
  return traceId;
}

/** Returns the number of rows of a table that the store would read for a statement of the export. */
async function estimateRows(database: Database, { sql, params }: Statement, table: string): Promise<number> {
  const read = await database.rows<{ table: string; rows: string }>(
    `EXPLAIN ESTIMATE ${sql.slice(0, sql.lastIndexOf('FORMAT'))}`,
    params,
  );
  return read.filter((each) => each.table === table).reduce((sum, { rows }) => sum + Number(rows), 0);
}

describe('export', () => {
  it('writes current scores with the facts of their runs as lines of JSON', async () => {
    const traceId = await storeScores('told');

    const { code, stdout } = await run('--since', '1970-01-01T00:00:00Z', '--scorer', 'told');

    expect(code).toBe(0);
    const rows = jsonLines(stdout) as Record<string, unknown>[];
    expect(rows).toHaveLength(3);
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          traceId: traceId,
          scoreId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          score: 0.25,
          inputTokens: 7,
          scoredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          runModels: ['a', 'b'],
          runTotalTokens: 42,
          runCostUsd: 0.5,
          runStatus: 'ok',
        }),
        expect.objectContaining({ score: 0.9, reason: 'second', runModels: [], runTotalTokens: null }),
        expect.objectContaining({ targetId: 's-1', runStartedAt: null }),
      ]),
    );
  });

  it('gives the same rows in each format', async () => {
    await storeScores('same');

    const since = ['--since', '1970-01-01T00:00:00Z'];
    expect((await run(...since, '--out', 'scores.parquet')).code).toBe(0);
    expect((await run(...since, '--out', 'scores.csv')).code).toBe(0);
    expect((await run(...since, '--out', 'scores.ndjson')).code).toBe(0);

    const columns =
      'TraceId, Scorer, Score, Reason, InputTokens, RunTotalTokens, RunModels, ScoreId, TargetId'.split(', ');
    const lower = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
    const read = (name: string, format: string, named = (column: string) => column) =>
      queryRows(
        base.options,
        `SELECT ${columns.map((column) => `toString(${named(column)}) AS ${column}`).join(', ')} FROM file('${join(cwd, name)}', ${format}) ORDER BY TargetId SETTINGS schema_inference_make_columns_nullable = 1`,
      );
    const rows = await read('scores.parquet', 'Parquet');
    expect(rows).toHaveLength(3);
    expect(await read('scores.ndjson', 'JSONEachRow', lower)).toEqual(rows);
    const csv = readFileSync(join(cwd, 'scores.csv'), 'utf8');
    expect(csv.split('\n', 1)[0]).toMatch(/^"ScoreId","Tenant".*"RunTurns"$/);
    expect(csv).toContain('"said ""no"",\nthen yes"');
    expect(readdirSync(cwd).toSorted()).toEqual(['scores.csv', 'scores.ndjson', 'scores.parquet']);
  });

  it('writes with --json the format that the name of the file says, and prints what it has written', async () => {
    await storeScores('named');

    for (const format of ['parquet', 'csv', 'ndjson']) {
      const file = join(cwd, `scores.${format}`);
      const { code, stdout } = await run('--since', '1970-01-01T00:00:00Z', '--out', file, '--json');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ file, format, bytes: statSync(file).size });
    }

    const start = (name: string) => readFileSync(join(cwd, name), 'latin1').slice(0, 4);
    expect(['scores.parquet', 'scores.csv', 'scores.ndjson'].map(start)).toEqual([
      'PAR1',
      expect.stringMatching(/^"/u),
      expect.stringMatching(/^\{"/u),
    ]);
  });

  it('takes scores of a range of time and of one scorer', async () => {
    const times = ['2026-01-01', '2026-01-02', '2026-01-03'].map((day) => Date.parse(`${day}T00:00:00Z`));
    await base.store.scores.write([
      ...times.map((scoredAt, index) => buildScore({ scorer: 'timed', scoredAt, score: index / 2 })),
      buildScore({ scorer: 'other', scoredAt: times[1]! }),
    ]);

    const { stdout } = await run(
      '--since',
      '2026-01-02T00:00:00Z',
      '--until',
      '2026-01-03T00:00:00Z',
      '--scorer',
      'timed',
      '--format',
      'csv',
    );

    const [head, ...rows] = stdout.trim().split('\n');
    const at = head!.split(',').indexOf('"Score"');
    expect(rows.map((row) => row.split(',')[at])).toEqual(['0.5']);
  });

  it('is wrong usage without a range, with an empty one, for an unknown scorer, and for Parquet without a file', async () => {
    for (const argv of [
      [],
      ['--since', '1h', '--until', '2h'],
      ['--since', '1h', '--scorer', 'nobody'],
      ['--since', '1h', '--format', 'parquet'],
    ]) {
      expect((await run(...argv)).code).toBe(2);
    }
  });

  it('names a file that cannot be written', async () => {
    const { code, stderr } = await run('--since', '1h', '--out', join('no', 'folder', 'x.csv'));

    expect(code).toBe(1);
    expect(stderr).toMatch(/x\.csv cannot be written: ENOENT/);
  });

  it('reads the runs of its scores, and few other rows, however many are stored', async () => {
    const stored = 60_000;
    const ids = `lower(hex(sipHash128(number)))`;
    await runSql(
      base.options,
      `INSERT INTO runs (TraceId, Target, TargetId, TotalTokens, StartedAt, EvidenceUntil, Version)
       SELECT ${ids} AS id, 'trace', id, number, now(), now(), 1 FROM numbers(${stored})`,
    );
    const insertScores = (age: number, count: number) =>
      runSql(
        base.options,
        `INSERT INTO scores (ScoreId, TraceId, Target, TargetId, Scorer, Score, ScoredAt, TraceTimestamp, EvidenceUntil, Day)
         SELECT generateUUIDv4(), ${ids} AS id, 'trace', id, 'many', 0.5, now() - ${age} AS at, at, at, toDate(at) FROM numbers(${count})`,
      );
    await insertScores(7_200, stored);
    await insertScores(60, 3);
    const asked: Statement[] = [];
    const database = openDatabase(base.options);
    const watched = {
      ...database,
      bytes: (sql: string, params: QueryParams) => {
        asked.push({ sql, params });
        return database.bytes(sql, params);
      },
    };
    const read = async (maxKeys?: number) => {
      const chunks: Uint8Array[] = [];
      const range = { sinceMs: Date.now() - 3_600_000 };
      for await (const chunk of createScoreExport(watched, maxKeys).read(range, 'ndjson')) {
        chunks.push(chunk);
      }
      return jsonLines(Buffer.concat(chunks).toString()) as Record<string, unknown>[];
    };
    const byScore = (rows: readonly Record<string, unknown>[]) =>
      rows.toSorted((a, b) => (String(a['scoreId']) < String(b['scoreId']) ? -1 : 1));

    const whole = await read(2);
    const rows = await read(3);
    expect(
      rows.map(({ runTotalTokens }) => runTotalTokens).toSorted((a, b) => Number(a) - Number(b)),
    ).toEqual([0, 1, 2]);
    expect(byScore(rows)).toEqual(byScore(whole));
    // Both tables are sorted by random ids: the index finds one granule of 1,024 rows for each score.
    expect(await estimateRows(database, asked.at(-1)!, 'runs')).toBeLessThanOrEqual(3 * 1_024);
    expect(await estimateRows(database, asked.at(-1)!, 'scores')).toBeLessThanOrEqual(3 * 1_024);
    expect(await estimateRows(database, asked[0]!, 'runs')).toBe(stored);
    await database.close();
  });

  it('gives a large result whole', async () => {
    const rows = 20_000;
    await runSql(
      base.options,
      `INSERT INTO scores (ScoreId, TraceId, Target, TargetId, Scorer, Score, Reason, ScoredAt, TraceTimestamp, EvidenceUntil, Day)
       SELECT generateUUIDv4(), hex(sipHash128(number)) AS id, 'trace', id, 'many', 0.5, randomPrintableASCII(1000), now(), now(), now(), today()
       FROM numbers(${rows})`,
    );

    expect((await run('--since', '1h', '--out', 'many.parquet')).code).toBe(0);
    expect((await run('--since', '1h', '--out', 'many.ndjson')).code).toBe(0);

    const [counted] = await queryRows<{ rows: string }>(
      base.options,
      `SELECT count() AS rows FROM file('${join(cwd, 'many.parquet')}', Parquet)`,
    );
    expect(Number(counted?.rows)).toBe(rows);
    const text = readFileSync(join(cwd, 'many.ndjson'));
    expect(text.byteLength).toBeGreaterThan(20 * MIB);
    expect(jsonLines(text.subarray(text.lastIndexOf(0x0a, -2) + 1).toString())).toHaveLength(1);
  });
});
