import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Batcher } from '../../../collector/batcher.ts';
import { BlockInserter, createInsertHealth } from '../../../collector/block-inserter.ts';
import { countedMetrics } from '../../support/collector/counted-metrics.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import type { RowPiece } from '../../../collector/otlp/row-pieces.ts';
import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { jsonLog, jsonSpan, logRequest, traceRequest } from '../../support/builders/otlp-requests.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { recordingSink, unavailable } from '../../support/fakes/recording-sink.ts';

function buildPieces(...names: string[]): RowPiece[] {
  const request = traceRequest(names.map((name) => jsonSpan({ name })));
  return [...decodeRequest('traces', 'json', Buffer.from(JSON.stringify(request)), '').pieces];
}

const ORIGIN = { tenant: 'a', source: 'otlp-http' };

function setUp(limits: Partial<CollectorLimits> = {}) {
  const sink = recordingSink();
  const metrics = countedMetrics();
  let tokens = 0;
  const all = { ...DEFAULT_COLLECTOR_LIMITS, ...limits };
  const inserter = new BlockInserter({
    purged: NOTHING_PURGED,
    sink,
    deadLetters: recordingLetters(),
    metrics,
    limits: all,
    log: silentLog,
    health: createInsertHealth(sink),
    newToken: () => `token ${++tokens}`,
  });
  const batcher = new Batcher({ inserter, limits: all, nowMs: () => Date.now() });
  const names = (): unknown[] => sink.rows().map((row) => row['SpanName']);
  return { batcher, sink, metrics, names };
}

/** The code of what a promise rejects with, 'stored' when it resolves. */
function outcome(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'stored',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a batcher', () => {
  it('joins requests that come within the batch age into one insert and resolves them after it', async () => {
    const { batcher, sink, names } = setUp();
    const results = [
      outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN)),
      outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN)),
    ];
    await vi.advanceTimersByTimeAsync(99);
    expect(sink.attempts).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(await Promise.all(results)).toEqual(['stored', 'stored']);
    expect(sink.attempts).toHaveLength(1);
    expect(names()).toEqual(['a', 'b']);
    expect(batcher.pendingBytes).toBe(0);
  });

  it('inserts at once when a batch has its rows', async () => {
    const { batcher, sink } = setUp({ batchRows: 2 });
    const results = [
      outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN)),
      outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN)),
    ];
    expect(await Promise.all(results)).toEqual(['stored', 'stored']);
    expect(sink.attempts).toHaveLength(1);
  });

  it('keeps tables apart', async () => {
    const { batcher, sink } = setUp();
    const logs = decodeRequest('logs', 'json', Buffer.from(JSON.stringify(logRequest([jsonLog()]))), '');
    const results = [
      outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN)),
      outcome(batcher.add('otel_logs', logs.pieces, ORIGIN)),
    ];
    await vi.advanceTimersByTimeAsync(100);
    expect(await Promise.all(results)).toEqual(['stored', 'stored']);
    expect(sink.attempts.map((attempt) => attempt.table)).toEqual(['otel_traces', 'otel_logs']);
  });

  it('never joins beyond the rows or bytes of a batch', async () => {
    const { batcher, sink } = setUp({ batchRows: 3 });
    const results = [
      outcome(batcher.add('otel_traces', buildPieces('a', 'b'), ORIGIN)),
      outcome(batcher.add('otel_traces', buildPieces('c', 'd'), ORIGIN)),
    ];
    await vi.advanceTimersByTimeAsync(200);
    expect(await Promise.all(results)).toEqual(['stored', 'stored']);
    expect(sink.attempts.map((attempt) => attempt.rows.length)).toEqual([2, 2]);
    expect(new Set(sink.attempts.map((attempt) => attempt.token)).size).toBe(2);
  });

  it('runs no more inserts at once than allowed and lets the waiting batch grow', async () => {
    const { batcher, sink } = setUp({ maxInserts: 1 });
    let release = (): void => undefined;
    sink.before = () => new Promise<void>((resolve) => (release = resolve));
    const first = outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN));
    await vi.advanceTimersByTimeAsync(100);
    const second = outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN));
    await vi.advanceTimersByTimeAsync(150);
    const third = outcome(batcher.add('otel_traces', buildPieces('c'), ORIGIN));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sink.attempts).toHaveLength(1);
    release();
    await first;
    expect(sink.attempts.map((attempt) => attempt.rows.length)).toEqual([1, 2]);
    release();
    expect(await Promise.all([second, third])).toEqual(['stored', 'stored']);
  });

  it('lets a batch grow beside a running insert for half a second, unless it is full', async () => {
    const { batcher, sink } = setUp({ batchRows: 3, maxInserts: 3 });
    const gates: (() => void)[] = [];
    sink.before = () => new Promise<void>((resolve) => gates.push(resolve));
    const add = (...names: string[]) => outcome(batcher.add('otel_traces', buildPieces(...names), ORIGIN));
    const results = [add('a')];
    await vi.advanceTimersByTimeAsync(100);
    results.push(add('b'));
    await vi.advanceTimersByTimeAsync(400);
    results.push(add('c'));
    expect(sink.attempts.map((attempt) => attempt.rows.length)).toEqual([1]);
    await vi.advanceTimersByTimeAsync(100);
    expect(sink.attempts.map((attempt) => attempt.rows.length)).toEqual([1, 2]);
    results.push(add('d', 'e', 'f'));
    await vi.advanceTimersByTimeAsync(0);
    expect(sink.attempts.map((attempt) => attempt.rows.length)).toEqual([1, 2, 3]);
    gates.forEach((open) => open());
    expect(new Set(await Promise.all(results))).toEqual(new Set(['stored']));
  });

  it('repeats a failed insert with the same block and token until the store is back', async () => {
    const { batcher, sink, metrics, names } = setUp();
    sink.before = unavailable(2);
    const result = outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await result).toBe('stored');
    expect(sink.attempts.map((attempt) => attempt.token)).toEqual(['token 1', 'token 1', 'token 1']);
    expect(names()).toEqual(['a']);
    expect(metrics.count('spanscore.insert.retries')).toBe(2);
    expect(metrics.count('spanscore.insert.failures')).toBe(0);
  });

  it('tells every sender that the store is unavailable once their patience ends', async () => {
    const { batcher, sink } = setUp();
    sink.before = unavailable(1_000);
    const results = Promise.all([
      outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN)),
      outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN)),
    ]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await results).toEqual(['store_unavailable', 'store_unavailable']);
    expect(sink.attempts.length).toBeLessThanOrEqual(DEFAULT_COLLECTOR_LIMITS.insertRetries + 1);
    expect(batcher.pendingBytes).toBe(0);
  });

  it('fails a request of several pieces when one of them is not stored', async () => {
    const { batcher, sink } = setUp({ batchRows: 1 });
    sink.before = (attempt) => {
      if (attempt.rows[0]?.['SpanName'] === 'b') {
        throw new StoreUnavailableError('down');
      }
    };
    const result = outcome(batcher.add('otel_traces', [...buildPieces('a'), ...buildPieces('b')], ORIGIN));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await result).toBe('store_unavailable');
  });

  it('refuses more bytes than it may hold', async () => {
    const pieces = buildPieces('a');
    const { batcher } = setUp({ maxInFlightBytes: (pieces[0]?.bytes.length ?? 0) + 10 });
    const first = outcome(batcher.add('otel_traces', pieces, ORIGIN));
    expect(await outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN))).toBe('overloaded');
    await vi.advanceTimersByTimeAsync(200);
    expect(await first).toBe('stored');
  });

  it('refuses more rows while its rows wait too long for the store', async () => {
    const { batcher, sink } = setUp({ maxInserts: 1, batchRows: 1 });
    let release = (): void => undefined;
    sink.before = () => new Promise<void>((resolve) => (release = resolve));
    const first = outcome(batcher.add('otel_traces', buildPieces('a'), ORIGIN));
    const second = outcome(batcher.add('otel_traces', buildPieces('b'), ORIGIN));
    await vi.advanceTimersByTimeAsync(DEFAULT_COLLECTOR_LIMITS.maxQueueMs + 1);
    expect(await outcome(batcher.add('otel_traces', buildPieces('c'), ORIGIN))).toBe('overloaded');
    release();
    expect(await first).toBe('stored');
    release();
    expect(await second).toBe('stored');
    sink.before = () => undefined;
    expect(await outcome(batcher.add('otel_traces', buildPieces('d'), ORIGIN))).toBe('stored');
  });

  it('finishes its rows when drained and accepts no more', async () => {
    const { batcher, sink, names } = setUp({ maxInserts: 1, batchRows: 1 });
    sink.before = unavailable(1);
    const results = Promise.all(
      ['a', 'b'].map((name) => outcome(batcher.add('otel_traces', buildPieces(name), ORIGIN))),
    );
    const drained = batcher.drain();
    expect(await outcome(batcher.add('otel_traces', buildPieces('c'), ORIGIN))).toBe('store_unavailable');
    await vi.advanceTimersByTimeAsync(1_000);
    await drained;
    expect(await results).toEqual(['stored', 'stored']);
    expect(names()).toEqual(['a', 'b']);
  });

  it('drains at once when it has nothing', async () => {
    await setUp().batcher.drain();
    expect(vi.getTimerCount()).toBe(0);
  });
});
