import { afterAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

// Up to five starts and the scoring of what came, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

/**
 * Rounds of kills. durability/ shows that nothing is lost over many kills; this file shows the decisions and scores after them.
 */
const ROUNDS = 4;
const SENDERS = 6;
const SPANS_PER_TRACE = 4;

const SCORERS = ['keyword-coverage', 'content-similarity'];

const folder = new ServeFolder({ rules: [{ name: 'all', scorers: SCORERS }] });

afterAll(async () => {
  await folder.dispose();
});

/** The sweep finds a trace that the tail has not read after up to ten minutes. */
const DECIDED_WITHIN_MS = 720_000;

/** Sends whole traces, one a request, until told to stop; collects the ids of those that were acknowledged. */
function startSender(otlpHttp: string, acknowledged: Set<string>): { stop(): Promise<void> } {
  const stopping = new AbortController();
  async function send(): Promise<void> {
    while (!stopping.signal.aborted) {
      const trace = anAgentTrace();
      if ((await sendTraces(otlpHttp, trace.request())) === 200) {
        acknowledged.add(trace.traceId);
      }
    }
  }
  const running = Promise.all(Array.from({ length: SENDERS }, send));
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Counts the decisions with a score on traces. */
async function countScored(addresses: ServeAddresses, traceIds: ReadonlySet<string>): Promise<number> {
  const rows = await queryRows<{ TraceId: string }>(
    addresses.clickhouse,
    `SELECT TraceId FROM decisions FINAL WHERE Status = 'scored'`,
  );
  return rows.filter(({ TraceId }) => traceIds.has(TraceId)).length;
}

it(
  `keeps every acknowledged span once and scores each of these traces once, over ${ROUNDS} kills of the process group`,
  { timeout: 2 * DECIDED_WITHIN_MS },
  async () => {
    const acknowledged = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const addresses = await folder.start();
      const before = acknowledged.size;
      const sender = startSender(addresses.otlpHttp, acknowledged);
      await until(
        () => acknowledged.size >= before + 20 + round * 7,
        120_000,
        () => folder.output,
      );
      await folder.killGroup();
      await sender.stop();
    }

    const addresses = await folder.start();
    const stored = await queryRows<{ TraceId: string; rows: string; spans: string }>(
      addresses.clickhouse,
      'SELECT TraceId, count() AS rows, uniqExact(SpanId) AS spans FROM otel_traces GROUP BY TraceId',
    );
    const byId = new Map(stored.map((row) => [row.TraceId, row]));
    const lost = [...acknowledged].filter((id) => Number(byId.get(id)?.spans ?? 0) !== SPANS_PER_TRACE);
    const doubled = [...acknowledged].filter((id) => Number(byId.get(id)?.rows ?? 0) !== SPANS_PER_TRACE);
    expect(lost).toEqual([]);
    expect(doubled).toEqual([]);

    // A kill may come between the spans of an insert and their arrivals. No sender got an answer for it: senders repeat it.
    const due = acknowledged.size * SCORERS.length;
    await until(
      async () => (await countScored(addresses, acknowledged)) >= due,
      DECIDED_WITHIN_MS,
      () => folder.output.slice(-2000),
    );
    const scores = await queryRows<{ TraceId: string; Scorer: string; rows: string }>(
      addresses.clickhouse,
      'SELECT TraceId, Scorer, count() AS rows FROM scores FINAL GROUP BY TraceId, Scorer',
    );
    expect(await countScored(addresses, acknowledged)).toBe(due);
    expect(scores.filter((row) => acknowledged.has(row.TraceId))).toHaveLength(due);
    expect(scores.filter((row) => Number(row.rows) !== 1)).toEqual([]);
    expect(await folder.stop()).toBe(0);
  },
);
