import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { FACT_KEYS } from '../../../src/conventions/fact-keys.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import {
  applyFactKeys,
  FACTS_COLUMN,
  readSchema,
  schemaFile,
  splitStatements,
} from '../../../src/store/schema/schema.ts';
import { applyMergeSettings } from '../../../src/store/schema/table-settings.ts';
import { signalNamesSql } from '../../../src/store/spans/agent-signal-sql.ts';

const { statements } = readSchema();

describe('the schema', () => {
  test('holds only statements that create something, and that can be repeated', () => {
    for (const statement of statements) {
      expect(statement).toMatch(/^CREATE (TABLE|(MATERIALIZED )?VIEW) IF NOT EXISTS \w+/);
    }
  });

  test.each([
    ['a comment', '-- a table\nCREATE TABLE a (b Int8)', true],
    ['another column', '-- some table\nCREATE TABLE a (b Int16)', false],
    ['another table', '-- some table\nCREATE TABLE a (b Int8);\nCREATE TABLE c (b Int8)', false],
  ])('with %s is another version only where a store would differ', async (_, text, isSame) => {
    const folder = await mkdtemp(join(tmpdir(), 'spanscore-schema-'));
    const versions = ['-- some table\nCREATE TABLE a (b Int8)', text].map((each, at) => {
      writeFileSync(join(folder, `${at}.sql`), `${each};\n`);
      return readSchema(join(folder, `${at}.sql`)).version;
    });
    await rm(folder, { recursive: true });

    expect(versions[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(versions[0] === versions[1]).toBe(isSame);
  });

  test('has a tenant in every table of traces and scores, and expires by no time of a sender', () => {
    const tables = statements.filter((text) => text.startsWith('CREATE TABLE'));
    const withTrace = tables.filter((text) => text.includes('`TraceId`'));
    expect(withTrace.length).toBeGreaterThan(5);
    for (const text of withTrace) {
      expect(text).toContain('`Tenant`');
    }
    for (const text of tables) {
      const ttl = /TTL (.*?) \+/.exec(text)?.[1] ?? 'none';
      expect([
        'none',
        'toDateTime(ArrivedAt)',
        'ArrivedWeek',
        'toDateTime(WrittenAt)',
        'toDateTime(BeatAt)',
        // The last arrival of the evidence, by the store's clock.
        'toDateTime(EvidenceUntil)',
      ]).toContain(ttl);
    }
  });

  test('stores the names that signals are looked for in', () => {
    const views = readFileSync(schemaFile(), 'utf8');
    const columns = {
      scopeName: 'ScopeName',
      attributeKeys: 'mapKeys(SpanAttributes)',
      eventNames: '`Events.Name`',
    };
    expect(views).toContain(signalNamesSql(columns));
    expect(views).toContain(
      signalNamesSql({ ...columns, attributeKeys: 'mapKeys(LogAttributes)', eventNames: '[EventName]' }),
    );
  });

  test('is cut into statements at semicolons that end a line, comments left out', () => {
    const text = "-- a; comment;\nSELECT ';'\n-- inside;\nFROM x;\n\nSELECT 2;";
    expect(splitStatements(text)).toEqual(["SELECT ';'\nFROM x", 'SELECT 2']);
  });

  test('that is missing gives an error with the next step', () => {
    expect(() => schemaFile('/')).toThrow(/install again/);
  });
});

test.each([
  ['has every key', FACTS_COLUMN, 0],
  ['lacks a key of a session', FACTS_COLUMN.replace(`'${FACT_KEYS.span.at(-1)}'`, "'another'"), 1],
  ['lacks a key of a resource', FACTS_COLUMN.replace("'service.version'", "'another'"), 1],
])('a store whose column of facts %s is altered only when it must', async (_, column, altered) => {
  const taken: string[] = [];
  const database = { command: async (sql: string) => void taken.push(sql) };

  await applyFactKeys(database, new Map([['otel_traces', `CREATE TABLE otel_traces (\`Facts\` ${column})`]]));

  expect(taken).toEqual(
    Array.from({ length: altered }, () => `ALTER TABLE otel_traces MODIFY COLUMN \`Facts\` ${FACTS_COLUMN}`),
  );
});

const NO_TABLES: ReadonlyMap<string, string> = new Map();

/** A server that refuses some statements, and the statements that it took. */
function buildServer(refusal: (sql: string) => Error | undefined = () => undefined) {
  const taken: string[] = [];
  let asked = 0;
  const server = {
    async command(sql: string) {
      asked += 1;
      const error = refusal(sql);
      if (error !== undefined) {
        throw error;
      }
      taken.push(sql);
    },
  };
  return { server, taken, asked: () => asked };
}

const refuse = (part: string) => (sql: string) =>
  sql.includes(part) ? new StoreRejectedError('unknown setting', {}, undefined) : undefined;

const listDecisions = (taken: readonly string[]) => taken.filter((sql) => sql.includes(' decisions '));

describe('merge settings', () => {
  it('of a table with many small inserts make merges rewrite few rows', async () => {
    const { server, taken } = buildServer();

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([
      "ALTER TABLE decisions MODIFY SETTING merge_selector_algorithm = 'Trivial'",
    ]);
  });

  it('stay when the table has them, whatever other settings it has', async () => {
    const { server, taken } = buildServer();
    const definition =
      "CREATE TABLE decisions (`a` String) ENGINE = ReplacingMergeTree ORDER BY a SETTINGS index_granularity = 1024, merge_selector_algorithm = 'Trivial', ttl_only_drop_parts = 1";

    await applyMergeSettings(server, new Map([['decisions', definition]]));

    expect(listDecisions(taken)).toEqual([]);
    expect(taken.length).toBeGreaterThan(0);
  });

  it('of a server without the best selector are the next best, and it is asked once', async () => {
    const { server, taken, asked } = buildServer(refuse('Trivial'));

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([
      'ALTER TABLE decisions MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0',
    ]);
    expect(asked()).toBe(taken.length + 1);
  });

  it('of a server that knows no selector still merge whole partitions', async () => {
    const { server, taken } = buildServer(refuse('merge_selector'));

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([]);
    expect(taken).toContain(
      'ALTER TABLE otel_traces MODIFY SETTING min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1',
    );
  });

  it('of a server that refuses everything stop no start', async () => {
    const { server, taken } = buildServer(refuse(''));

    await applyMergeSettings(server, NO_TABLES);

    expect(taken).toEqual([]);
  });

  it('are left for the next start when the server is away: it is asked once', async () => {
    const { server, asked } = buildServer(() => new StoreUnavailableError('away'));

    await applyMergeSettings(server, NO_TABLES);

    expect(asked()).toBe(1);
  });
});
