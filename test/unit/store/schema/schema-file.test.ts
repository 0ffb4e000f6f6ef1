import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { signalNamesSql } from '../../../../src/store/spans/agent-signal-sql.ts';
import { readSchema, schemaFile, splitStatements } from '../../../../src/store/schema/schema.ts';

const { statements } = readSchema();

describe('the schema', () => {
  test('holds only statements that create something, and that can be repeated', () => {
    for (const statement of statements) {
      expect(statement).toMatch(/^CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS \w+/);
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
        'toDateTime(ExportedAt)',
        'toDateTime(BeatAt)',
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
