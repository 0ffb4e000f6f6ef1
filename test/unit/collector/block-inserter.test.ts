import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import { describe, expect, it } from 'vitest';
import { BlockInserter, type SentPiece, createInsertHealth } from '../../../collector/block-inserter.ts';
import { countedMetrics } from '../../support/collector/counted-metrics.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { ROW_ENCODINGS } from '../../../src/store/contracts/rows.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { recordingSink, unavailable } from '../../support/fakes/recording-sink.ts';
import { readRows } from '../../support/store/row-binary-reader.ts';

function sent(names: readonly string[], tenant = 'a'): SentPiece[] {
  const request = traceRequest(names.map((name) => jsonSpan({ name })));
  const { pieces } = decodeRequest('traces', 'json', Buffer.from(JSON.stringify(request)), tenant);
  return pieces.map((piece) => ({ piece, origin: { tenant, source: 'otlp-http' } }));
}

function setUp(limits: Partial<CollectorLimits> = {}) {
  const sink = recordingSink();
  const letters = recordingLetters();
  const metrics = countedMetrics();
  const lines: string[] = [];
  let tokens = 0;
  const inserter = new BlockInserter({
    purged: NOTHING_PURGED,
    sink,
    deadLetters: letters,
    metrics,
    limits: { ...DEFAULT_COLLECTOR_LIMITS, insertRetries: 0, ...limits },
    log: createLog('debug', { destination: { write: (line) => void lines.push(line) } }),
    health: createInsertHealth(sink),
    newToken: () => `block ${++tokens}`,
  });
  const names = (): unknown[] => sink.rows().map((row) => row['SpanName']);
  const setAside = (): unknown[] =>
    letters.letters.flatMap(({ body }) => readRows('otel_traces', body).map((row) => row['SpanName']));
  return { inserter, sink, letters, metrics, lines, names, setAside };
}

/** For `before`: refuses every block that holds a row of such a name. */
function refusing(isBad: (name: string) => boolean) {
  return ({ rows }: { readonly rows: readonly Record<string, unknown>[] }): void => {
    if (rows.some((row) => isBad(String(row['SpanName'])))) {
      throw new StoreRejectedError('a poisonous row');
    }
  };
}

const isPoison = (name: string): boolean => name.startsWith('poison');
const good = (count: number): string[] => Array.from({ length: count }, (_, i) => `good ${i}`);

describe('rows that the store refuses', () => {
  it('are set aside with their bytes, tenant and reason; their neighbours are stored and every sender is answered', async () => {
    const { inserter, sink, letters, metrics, names, setAside } = setUp();
    sink.before = refusing(isPoison);
    const pieces = [...sent(['a', 'poison', 'b']), ...sent(['c'], 'other'), ...sent(['poison too'], 'other')];
    const outcomes = await inserter.insert('otel_traces', pieces);
    expect(outcomes.map(({ error, setAside: rows }) => [error, rows])).toEqual([
      [undefined, 1],
      [undefined, 0],
      [undefined, 1],
    ]);
    expect(outcomes[0]?.reasons).toEqual([expect.stringContaining('a poisonous row')]);
    expect(new Set(names())).toEqual(new Set(['a', 'b', 'c']));
    expect(new Set(setAside())).toEqual(new Set(['poison', 'poison too']));
    expect(letters.letters.map(({ tenant }) => tenant).sort()).toEqual(['a', 'other']);
    expect(letters.letters[0]).toMatchObject({
      source: 'otlp-http',
      signal: 'traces',
      encoding: ROW_ENCODINGS.otel_traces,
      code: 'store_rejected',
      reason: 'a poisonous row',
    });
    expect(metrics.count('spanscore.dead_letters')).toBe(2);
  });

  it('are found in 2·log2(n) inserts, each under a token of its own that follows from the block’s', async () => {
    const { inserter, sink, names, setAside } = setUp();
    sink.before = refusing(isPoison);
    await inserter.insert('otel_traces', sent([...good(700), 'poison', ...good(323)]));
    expect(sink.attempts).toHaveLength(21);
    expect(new Set(sink.attempts.map(({ token }) => token)).size).toBe(21);
    expect(sink.attempts.slice(0, 3).map(({ token }) => token)).toEqual([
      'block 1',
      'block 1/0-512',
      'block 1/512-1024',
    ]);
    expect(names()).toHaveLength(1023);
    expect(setAside()).toEqual(['poison']);
  });

  it('that come again are the same dead letter', async () => {
    const { inserter, sink, letters } = setUp();
    sink.before = refusing(isPoison);
    const pieces = sent(['a', 'poison', 'b']);
    await inserter.insert('otel_traces', pieces);
    await inserter.insert('otel_traces', [...sent(['c']), ...pieces]);
    expect(letters.letters).toHaveLength(2);
    expect(new Set(letters.letters.map(({ id }) => id)).size).toBe(1);
  });

  it('and are many stay together where the inserts allowed are used up: bounded work, nothing lost', async () => {
    const { inserter, sink, names, setAside } = setUp({ maxBisectInserts: 20 });
    sink.before = refusing((name) => Number(name.split(' ')[1]) % 10 === 9);
    const outcomes = await inserter.insert('otel_traces', sent(good(512)));
    expect(sink.attempts.length).toBeLessThanOrEqual(21);
    expect(names().length + setAside().length).toBe(512);
    expect(outcomes).toEqual([expect.objectContaining({ error: undefined, setAside: setAside().length })]);
  });

  it('are not set aside when the table is wrong: the senders try again', async () => {
    const { inserter, sink, letters, lines } = setUp();
    sink.before = refusing(() => true);
    sink.fault = new StoreUnavailableError('the table has no column SpanName');
    const outcomes = await inserter.insert('otel_traces', sent(['a', 'b']));
    expect(outcomes.map(({ error }) => error?.code)).toEqual(['store_unavailable']);
    expect(sink.attempts).toHaveLength(1);
    expect(letters.letters).toEqual([]);
    expect(lines.join('\n')).toContain('check its tables: spanscore migrate --status');
  });

  it('are not set aside when none of many is taken, nor one by one without end', async () => {
    const { inserter, sink, letters } = setUp({ maxUnprovenRows: 3 });
    sink.before = refusing(() => true);
    const codes = async (names: readonly string[]) =>
      (await inserter.insert('otel_traces', sent(names))).map(({ error }) => error?.code);
    expect(await codes(good(8))).toEqual(['store_unavailable']);
    expect(letters.letters).toEqual([]);
    for (const [name, expected] of [
      ['x', undefined],
      ['y', undefined],
      ['z', undefined],
      ['one too many', 'store_unavailable'],
    ] as const) {
      expect(await codes([name])).toEqual([expected]);
    }
    expect(letters.letters).toHaveLength(3);
    sink.before = () => undefined;
    expect(await codes(['taken'])).toEqual([undefined]);
    sink.before = refusing(() => true);
    expect(await codes(['again'])).toEqual([undefined]);
  });

  it('leave their senders to try again when the dead letters cannot be written', async () => {
    const { inserter, sink, letters } = setUp();
    sink.before = refusing(isPoison);
    letters.before = unavailable(1);
    const outcomes = await inserter.insert('otel_traces', sent(['a', 'poison']));
    expect(outcomes.map(({ error }) => error?.code)).toEqual(['store_unavailable']);
  });

  it('are distinguished from rows without a decision because the store became unreachable', async () => {
    const { inserter, sink, letters } = setUp();
    sink.before = (attempt) => {
      if (attempt.rows.length === 1) {
        throw new StoreUnavailableError('down');
      }
      refusing(isPoison)(attempt);
    };
    const outcomes = await inserter.insert('otel_traces', [...sent(['a', 'b']), ...sent(['c', 'poison'])]);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([undefined, 'store_unavailable']);
    expect(letters.letters).toEqual([]);
  });

  it('name the block in the log, where nothing is taken for a secret', async () => {
    const { inserter, sink, lines } = setUp();
    sink.before = refusing(isPoison);
    await inserter.insert('otel_traces', sent(['poison']));
    expect(lines.join('\n')).toContain('block 1');
    expect(lines.join('\n')).not.toContain('[redacted]');
  });
});
