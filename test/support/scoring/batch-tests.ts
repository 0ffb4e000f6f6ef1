import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import type { Store } from '../../../src/store/contracts/store.ts';
import { anAgentTrace } from '../builders/agent-trace.ts';
import { startBatchServer, type BatchServer } from '../fakes/batch-server.ts';
import { verdictJudge } from '../fakes/verdict-judge.ts';
import { store as ingest } from '../store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../store/store-rows.ts';
import { QUESTIONS_A_TRACE, startBatchProcess } from './batch-world.ts';

/** Traces of each test. */
export const TRACES = 6;

/** Turns of each session. The sessions are `chat-0`, `chat-1` and so on. */
export const TURNS = 2;

/** Stored traces, a provider with batches, and the processes of one test. */
export interface BatchTest {
  readonly base: TestStore;
  readonly store: TestStore['store'];
  readonly server: BatchServer;
  readonly traceIds: readonly string[];
  /** @param wrap replaces the store of the process */
  startProcess(more?: object, wrap?: (store: Store) => Store): ReturnType<typeof startBatchProcess>;
  /** Empties the store, and stores other traces. */
  begin(): Promise<void>;
  /**
   * Checks that every trace has one score, that no question was answered twice, that the money is booked, and that nothing is left at
   * the provider.
   */
  expectExact(): Promise<void>;
}

/** Registers the hooks of a file of tests. */
export function describeBatches(): BatchTest {
  let base: TestStore;
  let store: TestStore['store'] | undefined;
  let server: BatchServer;
  let traceIds: string[] = [];
  const processes: { stop(): Promise<void> }[] = [];
  const world: BatchTest = {
    get base() {
      return base;
    },
    get store() {
      return store!;
    },
    get server() {
      return server;
    },
    get traceIds() {
      return traceIds;
    },
    async startProcess(more, wrap = (whole) => whole) {
      const started = await startBatchProcess(wrap(world.store), server, more);
      processes.push(started);
      return started;
    },
    async begin() {
      await Promise.all(processes.splice(0).map((each) => each.stop()));
      await store?.close();
      store = await openEmptied(base.options);
      traceIds = Array.from({ length: TRACES }, newTraceId);
      for (const [n, traceId] of traceIds.entries()) {
        const trace = anAgentTrace(traceId, Date.now() - 24 * 3_600_000 + n)
          .answering(`It is ${n} degrees.`)
          .withAttributes({ 'gen_ai.conversation.id': `chat-${Math.floor(n / TURNS)}` });
        await ingest(store, decodeOtlpJson(trace.request()).spans);
      }
    },
    async expectExact() {
      const scores = await world.store.scores.list({ limit: 100 });
      expect(scores).toHaveLength(TRACES);
      expect(new Set(scores.map(({ scoreId }) => scoreId)).size).toBe(TRACES);
      expect(new Set(server.paid()).size).toBe(server.paid().length);
      expect(server.paid()).toHaveLength(TRACES * QUESTIONS_A_TRACE);
      expect(server.files.size).toBe(0);
      const total = scores.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
      expect(total).toBeGreaterThan(0);
      const range = { fromMs: 0, toMs: Date.now() + 86_400_000, openSinceMs: 0 };
      const spent = await world.store.judgeCalls.readSpending({ kind: 'total', name: '' }, range);
      expect(spent.bookedUsd).toBeCloseTo(total, 6);
    },
  };
  beforeAll(async () => {
    base = await testStore();
  });
  beforeEach(async () => {
    server = await startBatchServer(verdictJudge);
    await world.begin();
  });
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((each) => each.stop()));
    await server.close();
  });
  afterAll(async () => {
    await store?.close();
    await base.stop();
  });
  return world;
}
