import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { decodeTraces, readTrace } from '../../../../src/conventions/index.ts';
import { runBackfill } from '../../../support/scoring/backfill-runs.ts';
import type { Decision } from '../../../../src/domain/decision.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { noToolErrors } from '../../../../src/scorers/prebuilt/checks.ts';
import { explainTrace } from '../../../../src/scoring/explain.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { createScoring } from '../../../support/scoring/bare-scoring.ts';
import { ScoringLoop } from '../../../../src/scoring/live/scoring-loop.ts';
import { joinTraceKey } from '../../../../src/store/contracts/stores.ts';
import type { AttributeKind } from '../../../../src/store/foreign/foreign-schema.ts';
import { openStore, type Store } from '../../../../src/store/store.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import {
  exporterTables,
  withoutExpiry,
  type ExporterTables,
} from '../../../support/collector/exporter-tables.ts';
import { createJoiningScoring } from '../../../support/builders/pieces.ts';
import { recordedSpans } from '../../../support/recordings/recorded-spans.ts';
import { CountingScorer, judged, buildRule } from '../../../support/scoring/scoring-world.ts';
import { agentRunSpans, lateToolSpan } from '../../../support/store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const OLD_TABLE = readFileSync(
  new URL('../../../fixtures/reports/35-old-collector-status/create.sql', import.meta.url),
  'utf8',
).replace('otel.', '{db}.');

let base: TestStore;
let tables: ExporterTables;
let store: Store;
const loops: ScoringLoop[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await base.stop();
});
afterEach(async () => {
  await stopAll();
});

async function fresh(attributes: AttributeKind = 'map', edit = withoutExpiry): Promise<void> {
  tables = await exporterTables(base.engine, { attributes, edit });
  store = await openEmptied({ ...base.options, foreignSpans: tables.source });
  await store.watchSource();
}

/** As a process that starts on what another left. */
async function reopen(): Promise<void> {
  store = await openStore({ ...base.options, foreignSpans: tables.source });
}

async function stopAll(): Promise<void> {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
  await store.close();
}

function scoring() {
  return createScoring(
    { stores: store, readTrace, log: silentLog },
    { decisionWaitMs: 400, maxWaitMs: 60_000 },
  );
}

async function startLoop(rules: readonly Rule[]): Promise<void> {
  const loop = new ScoringLoop(scoring(), { rules, stopGraceMs: 1_000 });
  await loop.start();
  loops.push(loop);
}

async function listDecisions(traceId: string): Promise<Decision[]> {
  const key = { tenant: '', traceId };
  return (await store.decisions.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

async function listScores(traceId: string) {
  const key = { tenant: '', traceId };
  return (await store.scores.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

/** An agent's run that ended a moment ago. */
function recentRun(traceId: string) {
  return agentRunSpans(traceId, Date.now() - 10_000);
}

describe('live scoring of a table that the Collector writes', () => {
  test.each<AttributeKind>(['map', 'json'])('scores what comes, attributes as %s', async (attributes) => {
    await fresh(attributes);
    await startLoop([buildRule([new CountingScorer('a', (input) => ({ score: input.context!.length }))])]);
    const traceId = newTraceId();
    await tables.addSpans(recentRun(traceId));
    await until(async () => (await listDecisions(traceId))[0]?.status === 'scored');
    expect(await listDecisions(traceId)).toMatchObject([{ scorer: 'a', status: 'scored', revision: 1 }]);
    expect(await listScores(traceId)).toMatchObject([
      {
        score: 1,
        serviceName: 'weather',
        agent: 'weather-agent',
        environment: 'production',
        completeness: 'complete',
      },
    ]);
  });

  test('replaces a score when a span comes late, and asks no judge for one that comes twice', async () => {
    await fresh();
    const scorer = judged('j', (input) => ({ score: input.context!.length / 2 }));
    await startLoop([buildRule([scorer])]);
    const traceId = newTraceId();
    const run = recentRun(traceId);
    await tables.addSpans(run);
    await until(async () => (await listScores(traceId)).length === 1);
    await tables.addSpans(run);
    const now = BigInt(Date.now() - 2_000) * 1_000_000n;
    await tables.addSpans([{ ...lateToolSpan(traceId), startUnixNano: now, durationNano: 1_000_000n }]);
    await until(async () => (await listScores(traceId))[0]?.revision === 2);
    expect(await listScores(traceId)).toMatchObject([{ score: 1, revision: 2 }]);
    expect(scorer.inputs).toHaveLength(2);
  });

  test('reads the words of an older Collector for status and kind', async () => {
    await fresh('map', () => OLD_TABLE);
    await startLoop([buildRule([noToolErrors()], { sample: { rate: 0, always: ['error'] } })]);
    const [failed, fine] = [newTraceId(), newTraceId()];
    for (const traceId of [fine, failed]) {
      const run = recentRun(traceId).map((span) => {
        const hasFailed =
          traceId === failed && span.attributes.get('gen_ai.operation.name') === 'execute_tool';
        const words = {
          statusCode: hasFailed ? 'STATUS_CODE_ERROR' : 'STATUS_CODE_UNSET',
          kind: 'SPAN_KIND_CLIENT',
        };
        return { ...span, ...(words as Partial<Span>) };
      });
      await tables.addSpans(run);
    }
    await until(async () => (await listScores(failed)).length === 1);
    expect(await listScores(failed)).toMatchObject([{ scorer: 'check-no-tool-errors', score: 0 }]);
    expect(await listScores(fine)).toEqual([]);
    const read = await store.spans.read([{ tenant: '', traceId: failed }]);
    expect(read.get(` ${failed}`)?.spans.map(({ kind }) => kind)).toContain('Client');
  });

  test('does not score what spanscore emitted about a trace', async () => {
    await fresh();
    const scorer = new CountingScorer('a');
    await startLoop([buildRule([scorer])]);
    const [traceId, other] = [newTraceId(), newTraceId()];
    await tables.addSpans(recentRun(traceId));
    // The decision is written after the score.
    await until(async () => (await listDecisions(traceId))[0]?.status === 'scored');
    const [before] = await listDecisions(traceId);
    const evaluation = recentRun(traceId).map((span) => ({
      ...span,
      scopeName: 'spanscore',
      spanId: `ee${span.spanId.slice(2)}`,
    }));
    await tables.addSpans(evaluation);
    await tables.addSpans(recentRun(other));
    await until(async () => (await listScores(other)).length === 1);
    expect(await listDecisions(traceId)).toEqual([before]);
    expect(scorer.inputs).toHaveLength(2);
  });

  test('continues after a restart: new traces are scored, scored traces are not scored again', async () => {
    await fresh();
    const scorer = new CountingScorer('a');
    await startLoop([buildRule([scorer])]);
    const [before, meanwhile, after] = [newTraceId(), newTraceId(), newTraceId()];
    await tables.addSpans(recentRun(before));
    // The decision is written after the score.
    await until(async () => (await listDecisions(before))[0]?.status === 'scored');
    await stopAll();
    await tables.addSpans(recentRun(meanwhile));
    await reopen();
    await startLoop([buildRule([scorer])]);
    await until(async () => (await listScores(meanwhile)).length === 1);
    await tables.addSpans(recentRun(after));
    await until(async () => (await listScores(after)).length === 1);
    expect(scorer.inputs).toHaveLength(3);
    expect((await listScores(before))[0]?.revision).toBe(1);
  });

  test('leaves the tables as they are', async () => {
    await fresh();
    const state = () =>
      tables.run(`SELECT name, create_table_query, metadata_modification_time, total_rows FROM system.tables
        WHERE database = '{db}' ORDER BY name`);
    const traceId = newTraceId();
    await tables.addSpans(recentRun(traceId));
    const before = await state();
    const other = newTraceId();
    await startLoop([buildRule([new CountingScorer('a')])]);
    await until(async () => (await store.spans.findTrace(traceId)).length === 1);
    await runBackfill(scoring(), {
      fromMs: 0,
      toMs: Date.now(),
      rules: [buildRule([new CountingScorer('b')])],
    });
    await store.spans.facts([{ tenant: '', traceId: other }], ['a']);
    expect(await state()).toBe(before);
  });
});

describe('the history of a table that the Collector writes', () => {
  const HOUR_MS = 3_600_000;

  test('is scored by a backfill, each trace once, and never unasked', async () => {
    await fresh();
    const live = new CountingScorer('live');
    await startLoop([buildRule([live])]);
    const ids = Array.from({ length: 30 }, () => newTraceId());
    for (const [index, traceId] of ids.entries()) {
      await tables.addSpans(agentRunSpans(traceId, Date.now() - (index + 2) * 13 * HOUR_MS));
    }
    const scorer = new CountingScorer('b');
    const request = { fromMs: Date.now() - 1_000 * HOUR_MS, toMs: Date.now(), rules: [buildRule([scorer])] };
    expect(await runBackfill(scoring(), request)).toMatchObject({
      matched: 30,
      scored: 30,
      skipped: {},
      failed: {},
    });
    expect(await runBackfill(scoring(), request)).toMatchObject({ matched: 30, scored: 0 });
    expect(scorer.inputs).toHaveLength(30);
    expect(live.inputs).toHaveLength(0);
    const listed = await store.spans.list({ fromMs: 0, toMs: Date.now(), limit: 100 });
    expect(listed.map((trace) => trace.traceId)).toEqual(ids.toReversed());
  });

  test('is listed page by page, each trace once, also where a trace lasts for days', async () => {
    await fresh();
    const ids = Array.from({ length: 7 }, () => newTraceId());
    const day = 24 * HOUR_MS;
    const lasting = ids[6]!;
    await tables.addSpans([
      ...ids.slice(0, 6).flatMap((traceId, index) => agentRunSpans(traceId, Date.now() - (7 - index) * day)),
      ...agentRunSpans(lasting, Date.now() - 8 * day),
      ...agentRunSpans(lasting, Date.now() - day).map((span) => ({
        ...span,
        spanId: `aa${span.spanId.slice(2)}`,
      })),
    ]);
    const found: string[] = [];
    let after: { startUnixNano: bigint; traceId: string; tenant: string } | undefined;
    for (;;) {
      const page = await store.spans.list({ fromMs: 0, toMs: Date.now(), limit: 2, ...(after && { after }) });
      const last = page.at(-1);
      if (last === undefined) {
        break;
      }
      found.push(...page.map((trace) => trace.traceId));
      after = { startUnixNano: last.firstStartUnixNano, traceId: last.traceId, tenant: last.tenant };
    }
    expect(found).toEqual([lasting, ...ids.slice(0, 6)]);
    const newer = await store.spans.list({ fromMs: Date.now() - 2.5 * day, toMs: Date.now(), limit: 10 });
    expect(newer.map((trace) => trace.traceId)).toEqual([ids[5]]);
  });

  test('is one run where each call is a trace of its own', async () => {
    await fresh();
    const { traces } = decodeTraces(recordedSpans('spans', 'openinference-openai-chat'));
    await tables.addSpans(traces.flatMap((trace) => trace.spans));
    const scorer = new CountingScorer('b');
    const request = { fromMs: 0, toMs: Date.now(), rules: [buildRule([scorer])] };
    await runBackfill(createJoiningScoring(store), request);
    const decisions = (await Promise.all(traces.map((trace) => listDecisions(trace.traceId)))).flat();
    expect(traces.length).toBeGreaterThan(1);
    expect(decisions.filter((row) => row.status === 'scored')).toHaveLength(1);
    expect(decisions.filter((row) => row.reason.startsWith('part_of_run'))).toHaveLength(traces.length - 1);
    expect(scorer.inputs).toHaveLength(1);
  });

  test('is explained', async () => {
    await fresh();
    const traceId = newTraceId();
    await tables.addSpans(agentRunSpans(traceId, Date.now() - 30 * HOUR_MS));
    const rule = buildRule([new CountingScorer('a')]);
    await startLoop([rule]);
    const { decisions, computed } = await explainTrace(scoring(), { tenant: '', traceId }, [rule]);
    expect(decisions).toEqual([]);
    expect(computed).toMatchObject([{ rule: 'r' }]);
  });
});
