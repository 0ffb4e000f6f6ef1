import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { ConfigError, StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { isMissingTable, readForeignSchema } from '../../../../src/store/foreign/foreign-schema.ts';
import { jsonAttributes } from '../../../../src/store/foreign/json-attributes.ts';
import { toStoreError } from '../../../../src/store/store-error.ts';
import { fc } from '../../../support/fast-check.ts';

const MAP = 'Map(LowCardinality(String), String)';
const TRACES: Readonly<Record<string, string>> = {
  Timestamp: 'DateTime64(9)',
  TraceId: 'String',
  SpanId: 'String',
  ParentSpanId: 'String',
  TraceState: 'String',
  SpanName: 'LowCardinality(String)',
  SpanKind: 'LowCardinality(String)',
  ServiceName: 'LowCardinality(String)',
  ResourceAttributes: MAP,
  ScopeName: 'String',
  ScopeVersion: 'String',
  SpanAttributes: MAP,
  Duration: 'UInt64',
  StatusCode: 'LowCardinality(String)',
  StatusMessage: 'String',
  'Events.Timestamp': 'Array(DateTime64(9))',
  'Events.Name': 'Array(LowCardinality(String))',
  'Events.Attributes': `Array(${MAP})`,
  'Links.TraceId': 'Array(String)',
  'Links.SpanId': 'Array(String)',
  'Links.TraceState': 'Array(String)',
  'Links.Attributes': `Array(${MAP})`,
};

/** A server that knows the columns of some tables; each statement may be refused. */
function server(
  tables: Readonly<Record<string, Readonly<Record<string, string>>>>,
  refuse: (sql: string) => [code: string, type: string] | null = () => null,
) {
  const rows = async <Row>(sql: string): Promise<Row[]> => {
    const name = Object.keys(tables).find((table) => `${sql} `.includes(quoted(table)));
    const refusal = refuse(sql) ?? (name === undefined ? (['60', 'UNKNOWN_TABLE'] as const) : null);
    if (refusal !== null) {
      const [code, type] = refusal;
      throw toStoreError(new ClickHouseError({ code, type, message: 'said the server' }), 'reading');
    }
    const columns = Object.entries(tables[name ?? ''] ?? {});
    return (
      sql.startsWith('DESCRIBE') ? columns.map(([column, type]) => ({ name: column, type })) : []
    ) as Row[];
  };
  return { rows };
}

function quoted(table: string): string {
  return `${table
    .split('.')
    .map((part) => `\`${part}\``)
    .join('.')} `;
}

function read(database: ReturnType<typeof server>, logs?: string) {
  return readForeignSchema(database, { traces: 'otel.otel_traces', logs, lookbackMs: 1 });
}

function without(...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(TRACES).filter(([name]) => !names.includes(name)));
}

describe('the schema of foreign tables', () => {
  test('is their attributes and whether there is a table of trace starts', async () => {
    const lookup = { TraceId: 'String', Start: 'DateTime', End: 'DateTime' };
    const database = server({ 'otel.otel_traces': TRACES, 'otel.otel_traces_trace_id_ts': lookup });
    expect(await read(database)).toMatchObject({
      traces: { name: '`otel`.`otel_traces`', attributes: 'map', ordered: true },
      lookup: '`otel`.`otel_traces_trace_id_ts`',
      logs: null,
    });
  });

  test('is JSON where the columns are', async () => {
    const json = { ...TRACES, SpanAttributes: 'JSON(max_dynamic_paths=8)', ResourceAttributes: 'JSON' };
    expect(await read(server({ 'otel.otel_traces': json }))).toMatchObject({
      traces: { attributes: 'json' },
      lookup: null,
    });
  });

  test('may have its events and links as nested columns', async () => {
    const flat = Object.keys(TRACES).filter((name) => name.includes('.'));
    const nested = {
      ...without(...flat),
      Events: 'Nested(Timestamp DateTime64(9))',
      Links: 'Nested(TraceId String)',
    };
    expect(await read(server({ 'otel.otel_traces': nested }))).toMatchObject({
      traces: { attributes: 'map' },
    });
  });

  test('may be a view, which does not tell where a row lies', async () => {
    const view = server({ 'otel.otel_traces': TRACES }, (sql) =>
      sql.includes('_part') ? ['47', 'UNKNOWN_IDENTIFIER'] : null,
    );
    expect(await read(view)).toMatchObject({ traces: { ordered: false } });
  });

  test('leaves the table of trace starts alone when this user may not read it', async () => {
    const database = server({ 'otel.otel_traces': TRACES, 'otel.otel_traces_trace_id_ts': {} }, (sql) =>
      sql.includes('_trace_id_ts') ? ['497', 'ACCESS_DENIED'] : null,
    );
    expect(await read(database)).toMatchObject({ lookup: null });
  });
});

describe('tables that cannot be read are refused', () => {
  test('by name when they are not there, to be tried again', async () => {
    const error: unknown = await read(server({})).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({
      retryable: true,
      message: expect.stringContaining('no table otel.otel_traces'),
    });
    expect(isMissingTable(error)).toBe(true);
    await expect(read(server({ 'otel.otel_traces': TRACES }), 'otel.logs')).rejects.toThrow(
      'store.spans.logs: there is no table otel.logs',
    );
  });

  test('with the grant that is missing', async () => {
    const database = server({ 'otel.otel_traces': TRACES }, (sql) =>
      sql.startsWith('SELECT `Timestamp`') ? ['497', 'ACCESS_DENIED'] : null,
    );
    const error: unknown = await read(database).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('GRANT SELECT ON otel.otel_traces') });
    expect(isMissingTable(error)).toBe(false);
  });

  test('with the columns that are missing', async () => {
    const error: unknown = await read(
      server({ 'otel.otel_traces': without('Duration', 'Events.Name') }),
    ).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining('no column Duration, Events.Name') });
  });

  test('with the types that are none of attributes, or not the same', async () => {
    const text = { ...TRACES, SpanAttributes: 'String', ResourceAttributes: 'String' };
    await expect(read(server({ 'otel.otel_traces': text }))).rejects.toThrow(/SpanAttributes String/);
    const mixed = { ...TRACES, SpanAttributes: 'JSON' };
    await expect(read(server({ 'otel.otel_traces': mixed }))).rejects.toThrow(/both must be/);
  });

  test('with the message of the server when it is not reachable', async () => {
    const database = server({ 'otel.otel_traces': TRACES, 'otel.otel_traces_trace_id_ts': {} }, (sql) =>
      sql.includes('_trace_id_ts') ? ['210', 'NETWORK_ERROR'] : null,
    );
    await expect(read(database)).rejects.toThrow(/NETWORK_ERROR/);
  });
});

function readJson(text: string, keys: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(jsonAttributes(text, keys));
}

describe('attributes out of a JSON column', () => {
  test('have the names that were sent, not their nesting', () => {
    expect(readJson('{"a":{"b":{"c":"x"},"d":"y"},"e":"z"}')).toEqual({ 'a.b.c': 'x', 'a.d': 'y', e: 'z' });
  });

  test('keep a key that is also the beginning of other keys', () => {
    expect(
      readJson('{"ai":{"prompt":"x","prompt":{"messages":"y"}}}', ['ai.prompt', 'ai.prompt.messages']),
    ).toEqual({ 'ai.prompt': 'x', 'ai.prompt.messages': 'y' });
  });

  test('lower numbers, booleans and null as a map of strings holds them', () => {
    expect(readJson('{"n":5,"f":-0.5,"big":9007199254740993,"b":true,"none":null}')).toEqual({
      n: '5',
      f: '-0.5',
      big: '9007199254740993',
      b: 'true',
      none: '',
    });
  });

  test('keep lists as JSON, for any items', () => {
    expect(readJson('{"l":["a","]",{"k":"}"}],"m":[]}')).toEqual({ l: '["a","]",{"k":"}"}]', m: '[]' });
  });

  test('keep a map that was one value as JSON', () => {
    expect(readJson('{"args":{"city":"Paris"}}', ['args'])).toEqual({ args: '{"city":"Paris"}' });
  });

  test('hold the keys whose value was empty', () => {
    expect(readJson('{"a":"x"}', ['a', 'gone'])).toEqual({ a: 'x', gone: '' });
    expect(readJson('{}', ['gone'])).toEqual({ gone: '' });
    expect(readJson('{}')).toEqual({});
  });

  test('read keys and values that hold quotes, braces and escapes', () => {
    expect(readJson(String.raw`{"a\"{":"\\\"}\n\u00e9"}`)).toEqual({ 'a"{': '\\"}\né' });
  });

  test('reach no prototype', () => {
    const attributes = jsonAttributes('{"__proto__":{"polluted":"x"},"constructor":"y"}', []);
    expect([...attributes]).toEqual([
      ['__proto__.polluted', 'x'],
      ['constructor', 'y'],
    ]);
  });

  test('read a thousand levels without a stack', () => {
    const depth = 1_000;
    const text = `${'{"a":'.repeat(depth)}"x"${'}'.repeat(depth)}`;
    expect([...jsonAttributes(text, []).values()]).toEqual(['x']);
  });

  test.each(['', '[', '{', '{"a"', '{"a":', '{"a":"x', '{"a":[1', '{"a":{"b":1}', 'null', '{"a":}'])(
    'are refused with the place for %j',
    (text) => {
      expect(() => jsonAttributes(text, [])).toThrow(/no JSON object \(at \d+\)/);
    },
  );

  test('of strings read as JSON.parse reads them', () => {
    const key = fc.string().map((text) => text.replaceAll('.', '_'));
    fc.assert(
      fc.property(fc.dictionary(key, fc.string()), (values) => {
        expect([...jsonAttributes(JSON.stringify(values), [])]).toEqual(Object.entries(values));
      }),
    );
  });
});
