import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementType, parseNativeType } from '../../../src/store/embedded/native-format.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { runCommand } from '../../support/store/clickhouse-query.ts';
import { fillTable, listTables } from '../../support/store/filled-tables.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from '../python/python-venv.ts';

// The SQL clients that people have, as they are by default, read every table whole; what they read is what
// `@clickhouse/client` reads.

const TIMEOUT_MS = 40 * 60_000;
const ROWS = 20;
/** The last queries: a table of ours, one of other types, an empty reply. */
const SOME = -3;
const SCRIPT = fileURLToPath(new URL('read-queries.py', import.meta.url));

/** Columns that our own tables do not have. */
const OTHER_TYPES = [
  'n FixedString(4)',
  'd Decimal(18, 3)',
  "e Enum8('one' = 1, 'it\\'s, two' = 2)",
  'i IPv4',
  'b Nullable(Bool)',
  'ln LowCardinality(Nullable(String))',
  'an Array(Nullable(UInt64))',
  'aa Array(Array(LowCardinality(String)))',
  't Tuple(UInt8, String)',
  'm Map(String, Array(UInt32))',
  'dt DateTime',
  'u Nullable(UUID)',
];

interface Reply {
  readonly query: unknown[][];
  readonly stream: unknown[][];
  readonly pandas: unknown[][];
}

interface ClientReply {
  readonly types: readonly string[];
  readonly rows: readonly unknown[][];
}

/** Format of a client's times and dates. */
interface Telling {
  /** Digits of a second's fraction. */
  readonly digits: number;
  /** A date is the time at which it begins. */
  readonly datesAreTimes: boolean;
}

const GO = { digits: 9, datesAreTimes: false };
const PANDAS = { digits: 9, datesAreTimes: true };
const PYTHON = { digits: 6, datesAreTimes: false };

let test: TestStore;
let queries: string[];
/** The reply to each query as `@clickhouse/client` reads it. */
let expected: ClientReply[];

const python = await pythonVenv('clickhouse-connect');
if ('missing' in python) {
  tellNotProved('clickhouse-connect', python.missing);
}
const go = await goProgram('clickhouse-go');

beforeAll(async () => {
  test = await testStore();
  const { options } = test;
  await runCommand(
    options,
    `CREATE TABLE types_of_others (${OTHER_TYPES.join(', ')}) ENGINE = MergeTree ORDER BY n`,
  );
  // Rows that are older than their table keeps are not to vanish while they are read.
  await runCommand(options, 'SYSTEM STOP MERGES');
  const tables = await listTables(options);

  for (const table of tables) {
    await fillTable(options, table, ROWS);
  }
  queries = [
    // Several blocks.
    "SELECT number, toLowCardinality(toString(number % 7)) AS l, map('k', number) AS m FROM numbers(70000)",
    ...tables.map(({ table, columns }) => {
      const names = columns.map(({ name }) => `\`${name}\``).join(', ');
      return `SELECT ${names} FROM ${table} ORDER BY toString(tuple(*))`;
    }),
    "SELECT SpanName, SpanAttributes FROM otel_traces WHERE TraceId = 'none'",
  ];
  expected = await Promise.all(queries.map(readByClient));
}, TIMEOUT_MS);

afterAll(() => test.stop());

async function readByClient(query: string): Promise<ClientReply> {
  const { url, username, password, database } = test.options;
  const client = createClient({ url, username, password, database });
  const result = await client.query({
    query,
    format: 'JSONCompactEachRowWithNamesAndTypes',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 1, output_format_json_quote_decimals: 1 },
  });
  const [, types = [], ...rows] = await result.json<unknown[]>();
  await client.close();
  return { types: types.map(String), rows };
}

/** A reply as another client tells it. */
function told(
  { types, rows }: ClientReply | undefined = { types: [], rows: [] },
  telling: Telling,
): unknown[][] {
  return rows.map((row) => row.map((value, at) => plain(value, types[at] ?? '', telling)));
}

/** Nanoseconds since 1970 of a time as ClickHouse writes it. */
function nanoseconds(time: string, digits: number): string {
  const [seconds = '', fraction = ''] = time.split('.');
  const kept = fraction.slice(0, digits).padEnd(9, '0');
  return String(
    (BigInt(Date.parse(`${seconds.replace(' ', 'T')}Z`)) / 1_000n) * 1_000_000_000n + BigInt(kept),
  );
}

/** Whole numbers as text, times as nanoseconds since 1970 in text, dates as YYYY-MM-DD, tuples as lists. */
function plain(value: unknown, type: string, telling: Telling): unknown {
  const { name, parts } = parseNativeType(type);
  const [first = '', second = ''] = parts;
  if (value === null) {
    return null;
  }
  switch (name) {
    case 'Nullable':
    case 'LowCardinality':
      return plain(value, first, telling);
    case 'SimpleAggregateFunction':
      return plain(value, second, telling);
    case 'Array':
      return (value as unknown[]).map((entry) => plain(entry, first, telling));
    case 'Tuple':
      return (value as unknown[]).map((entry, at) => plain(entry, elementType(parts[at] ?? ''), telling));
    case 'Map':
      return Object.fromEntries(
        Object.entries(value as object).map(([key, entry]) => [key, plain(entry, second, telling)]),
      );
    case 'Date':
      return telling.datesAreTimes ? nanoseconds(`${value as string} 00:00:00`, 0) : value;
    case 'DateTime':
    case 'DateTime64':
      return nanoseconds(value as string, telling.digits);
    default:
      return typeof value === 'number' && !name.startsWith('Float') ? String(value) : value;
  }
}

/** Output of a program for a text on its standard input. */
function runReader(command: string, args: readonly string[], input: object): Promise<unknown> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE },
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) {
        resolve(JSON.parse(output));
      } else {
        reject(new Error(`${command} ended with ${code}: ${errors.slice(-3_000)}`));
      }
    });
  });
}

/** Queries for a client: all of them, and with a compression that is not its default some of each kind. */
function asked(compression: string, isWhole: boolean) {
  const { username, password, database } = test.options;
  return { username, password, database, compression, queries: isWhole ? queries : queries.slice(SOME) };
}

describe.skipIf('missing' in python)('clickhouse-connect', () => {
  it(
    'reads tables whole, as rows, as a stream and into pandas, with each compression',
    async () => {
      const { username, password, database, url } = test.options;
      const address = { username, password, database, port: Number(new URL(url).port) };
      const runs = ['default', 'zstd', 'gzip', 'br', 'lz4'].map((compression) => ({
        compression,
        queries: compression === 'default' ? queries : queries.slice(SOME),
      }));
      const command = 'missing' in python ? '' : python.python;
      const read = (await runReader(command, [SCRIPT], { address, runs })) as {
        runs: Reply[][];
        command: number;
        written: number;
      };

      runs.forEach((run, at) => {
        const replies = expected.slice(-run.queries.length);
        run.queries.forEach((query, position) => {
          const reply = read.runs[at]?.[position];
          expect(reply?.pandas, `${run.compression}: ${query}`).toEqual(told(replies[position], PANDAS));
          expect(reply?.query, `${run.compression}: ${query}`).toEqual(told(replies[position], PYTHON));
          expect(reply?.stream, `${run.compression}: ${query}`).toEqual(told(replies[position], PYTHON));
        });
      });
      expect(read.command).toBe(42);
      expect(read.written).toBe(3);
    },
    TIMEOUT_MS,
  );
});

describe.skipIf('missing' in go)('clickhouse-go over HTTP', () => {
  it.each(['none', 'gzip', 'deflate', 'br'])(
    'reads tables whole, with %s compression',
    async (compression) => {
      const input = asked(compression, compression === 'none');
      const address = new URL(test.options.url).host;
      const command = 'missing' in go ? '' : go.binary;
      const replies = (await runReader(command, [], { ...input, address })) as unknown[][][];

      const rows = expected.slice(-input.queries.length);
      input.queries.forEach((query, at) => {
        expect([query, replies[at]]).toEqual([query, told(rows[at], GO)]);
      });
    },
    TIMEOUT_MS,
  );
});
