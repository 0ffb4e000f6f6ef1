import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReadApi, type ReadApi } from '../../../support/api/read-api.ts';
import { queryRows, runCommand } from '../../../support/store/clickhouse-query.ts';

// A page reads a page, however many rows there are.

const ROWS = 400_000;

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi();
  const { options } = api.base;
  const start = "toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalSecond(number)";
  const traceId = "lower(hex(MD5(concat('trace ', toString(number)))))";
  await runCommand(
    options,
    `INSERT INTO scores (ScoreId, TraceId, Target, TargetId, Scorer, Fingerprint, Score, HigherIsBetter, ScoreMin, ScoreMax,
       ServiceName, TraceTimestamp, ScoredAt, EvidenceUntil, Day, Source, Stratum, InclusionProbability, Revision)
     SELECT generateUUIDv4(number), ${traceId}, 'trace', ${traceId}, concat('scorer-', toString(number % 5)), 'f', number % 100 / 100,
       true, 0, 1, concat('service-', toString(number % 4)), ${start}, ${start}, ${start}, toDate(${start}), 'live', 'uniform', 1, 1
     FROM numbers(${ROWS})`,
  );
  await runCommand(
    options,
    `INSERT INTO runs (TraceId, Target, TargetId, SessionId, ServiceName, Agent, StartedAt, EvidenceUntil, ReadFrom, Version)
     SELECT ${traceId}, 'trace', ${traceId}, concat('session-', toString(intDiv(number, 4))), concat('service-', toString(number % 4)),
       'agent', ${start}, ${start}, 'content', 1
     FROM numbers(${ROWS})`,
  );
});
afterAll(() => api.stop());

/** Reads how many rows the engine has read for queries so far. */
async function countRead(): Promise<number> {
  const [row] = await queryRows<{ read: string }>(
    api.base.options,
    "SELECT toString(value) AS read FROM system.events WHERE event = 'SelectedRows'",
  );
  return Number(row?.read);
}

// A look-up by a random id reads a granule of 1,024 rows: a few for each score, more for a trace, and most for a session of four turns.
test.each([
  ['scores?limit=10', 0.2],
  ['scores?limit=10&service=service-1', 0.2],
  ['scores?limit=10&until=2026-01-02T00:00:00Z', 0.2],
  ['traces?limit=10', 0.5],
  ['traces?limit=10&service=service-1', 0.5],
  ['traces?limit=10&until=2026-01-02T00:00:00Z', 0.5],
  ['sessions?limit=10', 0.75],
])('%s reads less than %d of the rows of a table', async (path, share) => {
  const first = await api.ask(path);
  const before = await countRead();
  const { status, body } = await api.ask(`${path}&cursor=${first.body.next}`);
  const read = (await countRead()) - before;
  expect(status).toBe(200);
  expect(body.items).toHaveLength(10);
  expect(read).toBeLessThan(ROWS * share);
});
