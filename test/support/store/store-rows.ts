import { randomBytes } from 'node:crypto';
import type { Decision } from '../../../src/domain/decision.ts';
import { computeScoreId } from '../../../src/domain/identity.ts';
import type { Score } from '../../../src/domain/score.ts';
import type { LogRecord, Span } from '../../../src/domain/trace/span.ts';
import { encodeLog, encodeSpan, type RowBlock, RowWriter } from '../../../src/store/contracts/rows.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/store/store.ts';
import { queryRows, runCommand } from './clickhouse-query.ts';
import { testEngine, type TestEngine } from './engine.ts';
import { aScore } from '../builders/a-score.ts';

/** Store with a random database on a test engine. */
export interface TestStore {
  readonly engine: TestEngine;
  readonly options: StoreOptions;
  readonly store: Store;
  stop(): Promise<void>;
}

export function storeOptions(
  engine: TestEngine,
  database = `test_${randomBytes(6).toString('hex')}`,
): StoreOptions {
  return {
    url: engine.url,
    username: engine.username,
    password: engine.password,
    database,
    retention: { spansDays: 30, scoresDays: 400 },
  };
}

/** Returns the command-line flags that select this store. */
export function storeFlags(
  options: Pick<StoreOptions, 'url' | 'username' | 'password' | 'database'>,
): string[] {
  const settings = (['username', 'password', 'database'] as const).map(
    (key) => `store.${key}=${options[key]}`,
  );
  return ['--store-url', options.url, ...settings.flatMap((setting) => ['--set', setting])];
}

/** Databases of this worker that no test uses, each with the definitions of its tables. */
const idle: { readonly options: StoreOptions; readonly tables: string }[] = [];

/**
 * Opens a store with empty tables. To empty a database that another file has left is much faster than to create one; one whose
 * tables are no longer as they were made is not used again.
 */
export async function testStore(): Promise<TestStore> {
  const engine = await testEngine();
  const left = idle.pop();
  if (left === undefined) {
    const options = storeOptions(engine);
    return lendDatabase(engine, await openStore(options), {
      options,
      tables: await listDefinitions(options),
    });
  }
  return lendDatabase(engine, await openEmptied(left.options), left);
}

function lendDatabase(engine: TestEngine, store: Store, lent: (typeof idle)[number]): TestStore {
  const { options, tables } = lent;
  return {
    engine,
    options,
    store,
    async stop() {
      await store.close();
      if ((await listDefinitions(options)) === tables) {
        idle.push(lent);
      } else {
        await runCommand(options, `DROP DATABASE ${options.database} SYNC`);
      }
      await engine.stop();
    },
  };
}

async function listDefinitions({ database, ...address }: StoreOptions): Promise<string> {
  const query = `SELECT name, create_table_query FROM system.tables WHERE database = '${database}' ORDER BY name`;
  return JSON.stringify(await queryRows({ ...address, database }, query));
}

/** Opens the store on a database after emptying its tables, which is much faster than creating a database. */
export async function openEmptied(options: StoreOptions): Promise<Store> {
  await runCommand(options, `TRUNCATE TABLES FROM ${options.database} NOT LIKE 'schema_version'`);
  return openStore(options);
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

export function buildSpan(fields: Partial<Span> = {}): Span {
  return {
    traceId: newTraceId(),
    spanId: newSpanId(),
    parentSpanId: '',
    traceState: '',
    name: 'invoke_agent weather',
    kind: 'Internal',
    serviceName: 'shop',
    resourceAttributes: new Map([['service.name', 'shop']]),
    scopeName: 'test',
    scopeVersion: '1',
    attributes: new Map([['gen_ai.operation.name', 'invoke_agent']]),
    startUnixNano: 1_763_700_000_000_000_001n,
    durationNano: 1_500_000_007n,
    statusCode: 'Unset',
    statusMessage: '',
    events: [],
    links: [],
    droppedAttributesCount: 0,
    ...fields,
  };
}

export function buildLog(fields: Partial<LogRecord> = {}): LogRecord {
  return {
    timeUnixNano: 1_763_700_000_000_000_002n,
    traceId: newTraceId(),
    spanId: newSpanId(),
    severityText: '',
    severityNumber: 9,
    serviceName: 'shop',
    body: '{"content":"hi"}',
    resourceAttributes: new Map([['service.name', 'shop']]),
    scopeName: 'test',
    scopeVersion: '',
    attributes: new Map(),
    eventName: 'gen_ai.user.message',
    ...fields,
  };
}

export function spanBlock(spans: readonly Span[], tenant = ''): RowBlock {
  const writer = new RowWriter();
  for (const span of spans) {
    encodeSpan(writer, span, tenant);
  }
  return { table: 'otel_traces', rows: spans.length, chunks: [writer.written()] };
}

export function logBlock(logs: readonly LogRecord[], tenant = ''): RowBlock {
  const writer = new RowWriter();
  for (const log of logs) {
    encodeLog(writer, log, tenant);
  }
  return { table: 'otel_logs', rows: logs.length, chunks: [writer.written()] };
}

export function buildDecision(fields: Partial<Decision> = {}): Decision {
  const traceId = fields.traceId ?? newTraceId();
  return {
    tenant: '',
    traceId,
    target: 'trace',
    targetId: traceId,
    rule: 'default',
    scorer: 'keyword-coverage',
    fingerprint: 'f1',
    status: 'scored',
    reason: '',
    attempts: 0,
    nextAttemptAt: null,
    inclusionProbability: 1,
    weight: 1,
    stratum: 'uniform',
    revision: 1,
    evidenceUntil: 1_763_700_000_000,
    evidenceHash: 'e1',
    costUsd: null,
    decidedAt: Date.now(),
    ...fields,
  };
}

/** Builds a score of a code scorer for the store, scored now. Each call has another trace. */
export function buildScore(fields: Partial<Score> = {}): Score {
  const tenant = fields.tenant ?? '';
  const traceId = fields.traceId ?? newTraceId();
  const scorer = fields.scorer ?? 'keyword-coverage';
  const fingerprint = fields.fingerprint ?? 'f1';
  const targetId = fields.targetId ?? traceId;
  return aScore({
    scoreId: computeScoreId({ tenant, target: 'trace', targetId, scorer, fingerprint }),
    traceId,
    spanId: newSpanId(),
    targetId,
    scorer,
    fingerprint,
    judgeModel: '',
    promptVersion: '',
    score: 0.75,
    label: '',
    higherIsBetter: true,
    reason: 'three of four',
    serviceName: 'shop',
    environment: '',
    model: '',
    traceTimestamp: Date.now() - 5000,
    scoredAt: Date.now(),
    inputTokens: null,
    outputTokens: null,
    judgeCalls: 0,
    durationMs: 1.25,
    evidenceHash: 'e1',
    day: new Date().toISOString().slice(0, 10),
    evidenceUntil: Date.now(),
    ...fields,
  });
}
