import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { startRequestGate, type RequestGate } from '../../support/fakes/request-gate.ts';
import { receivedWebhooks } from '../../support/fakes/received-webhooks.ts';
import { scoreRowAt } from '../../support/monitors/monitor-world.ts';
import { requireDone, startCli, type CliResult } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows, runCommand, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { differingTables, withStore } from '../../support/store/kept-folder.ts';
import { until } from '../../support/until.ts';

const DATABASE = `moved_${process.pid}`;
const TRACES_BEFORE = 400;
const SENDERS = 4;
const SCORERS = ['keyword-coverage', 'no-tool-errors'];

const MINUTE_MS = 60_000;
/** Scorer of the monitored scores, which no rule runs. */
const MONITORED = 'tone';
/** Agents whose scores fall: one long before the move, the other so that its alert comes while the move is tried. */
const EARLY = 'early';
const MEANWHILE = 'meanwhile';
const MONITORS = {
  groups: [
    {
      name: 'quality',
      interval: '1m',
      rules: [
        {
          alert: 'Low',
          detector: 'threshold',
          series: { scorer: MONITORED },
          minimum: 0.5,
          window: '1m',
          minScores: 1,
        },
      ],
    },
  ],
};

/** Start of a bucket that closes in 5 to 65 s. A bucket closes a minute after its end. */
const findNextBucket = () => (Math.floor((Date.now() + 5_000) / MINUTE_MS) - 1) * MINUTE_MS;

/** Inserts a monitored score of an agent that the store received at this time. */
function insertMonitored(
  address: ClickHouseAddress,
  atMs: number,
  fields: { readonly agent: string; readonly score: number },
): Promise<void> {
  const row = scoreRowAt(atMs, { scorer: MONITORED, higherIsBetter: true, ...fields });
  return runCommand(address, `INSERT INTO scores FORMAT JSONEachRow ${JSON.stringify(row)}`);
}

/** Statement after which the target is complete. */
const DROP_MARK = 'DROP TABLE IF EXISTS unfinished_copy';
/** Time in which a hold ends that nobody renews, with what a busy machine adds, milliseconds. */
const HOLD_ENDS_MS = 45_000;
/** Longest time for which a hold lasts without its mover, milliseconds. */
const HOLD_MS = 30_000;

describe('a move beside a serve, killed five times', () => {
  const acknowledged: string[] = [];
  const stopping = new AbortController();
  let refusals = 0;
  let receiver: HttpReceiver;
  let engine: TestEngine;
  let folder: ServeFolder;
  let target: ClickHouseAddress;
  let source: ClickHouseAddress;
  let gate: RequestGate;
  /** Returns true for the statement at which the target no longer answers. */
  let isMoment: (statement: string) => boolean | Promise<boolean> = () => false;
  let reached: PromiseWithResolvers<void>;
  let killed: PromiseWithResolvers<void>;
  let otlpHttp: string | undefined;
  let senders: Promise<void>[];
  let differences: readonly string[];
  let open: readonly { readonly agent: string; readonly incident: string }[];
  /** Time from a kill in the last pass until the former store takes spans again, milliseconds. */
  let reopenedMs: number;
  /** Number of acknowledged traces at the kill after which the former store only reads, and after the last move. */
  let acknowledgedAtEnd: readonly [number, number];
  let writeAtEnd: unknown;
  let serveTooEarly: unknown;
  let repeated: CliResult;
  /** Bucket in which the scores of the first agent are good again. */
  let recoveredMs: number;

  /** States of each incident in the order in which the channel told them; ended incidents first. */
  const listTold = () =>
    Object.values(receivedWebhooks(receiver, '/alerts').incidents)
      .map((told) => told.map(({ status }) => status))
      .toSorted((one, other) => other.length - one.length);
  const listRepeated = (path: string) => {
    const sent = receiver.requests.filter((request) => request.path === path);
    const ids = sent.map(({ headers }) => String(headers['webhook-id']));
    return ids.filter((id, index) => ids.indexOf(id) !== index);
  };

  /** Sends traces, each until it is acknowledged. */
  async function sendAlways(): Promise<void> {
    while (!stopping.signal.aborted) {
      const trace = anAgentTrace();
      while (!stopping.signal.aborted) {
        const status = otlpHttp === undefined ? 0 : await sendTraces(otlpHttp, trace.request());
        if (status === 200) {
          acknowledged.push(trace.traceId);
          break;
        }
        refusals += status === 503 || status === 429 ? 1 : 0;
        await sleep(200);
      }
      await sleep(acknowledged.length < TRACES_BEFORE ? 0 : 50);
    }
  }

  const startMove = () => {
    const url = new URL(gate.url);
    url.username = engine.username;
    url.password = engine.password;
    return startCli(['move', '--to', url.href, '--database', DATABASE, '--config', folder.configFile], {
      cwd: folder.path,
      stdin: '',
    });
  };
  /** Starts a move, and kills it as soon as something is so. */
  async function killMove(moment: Promise<void>): Promise<void> {
    killed = Promise.withResolvers();
    const move = startMove();
    const ended = move.ended.then(({ stderr }) => {
      throw new Error(`the move ended before its kill: ${stderr}`);
    });
    await Promise.race([moment, ended]);
    move.child.kill('SIGKILL');
    await ended.catch(() => undefined);
    isMoment = () => false;
    killed.resolve();
  }
  /** Resolves when a move has sent a statement to the target. It gets no answer. */
  function waitForStatement(isIt: typeof isMoment): Promise<void> {
    reached = Promise.withResolvers();
    isMoment = isIt;
    return reached.promise;
  }
  /** Inserts no rows into a table of the former store. Returns the refusal; undefined when it was accepted. */
  const tryInsert = (table: string) =>
    runCommand(source, `INSERT INTO ${table} SELECT * FROM ${table} LIMIT 0`).catch(
      (error: unknown) => error,
    );
  const isHeld = async (table: string) => (await tryInsert(table)) !== undefined;

  beforeAll(async () => {
    receiver = await startHttpReceiver();
    engine = await testEngine();
    target = { ...engine, database: DATABASE };
    gate = await startRequestGate(engine.url, async ({ path, body }, forward) => {
      const statement = `${new URL(path, engine.url).searchParams.get('query') ?? ''}${body}`;
      const isReached = await isMoment(statement);
      if (!isReached || statement.startsWith(DROP_MARK)) {
        await forward();
      }
      if (isReached) {
        reached.resolve();
        await killed.promise;
      }
      return !isReached;
    });
    const config = {
      rules: [{ name: 'all', scorers: SCORERS }],
      exporters: { webhook: { url: `${receiver.url}/scores` } },
      monitors: [MONITORS],
      alerts: { webhook: [{ name: 'ops', url: `${receiver.url}/alerts` }], groupWait: '0s' },
    };
    folder = new ServeFolder(config);
    await withStore(folder.dataDir, (_, address) =>
      insertMonitored(address, Date.now() - 10 * MINUTE_MS, { agent: EARLY, score: 0.1 }),
    );
    const addresses = await folder.start();
    ({ otlpHttp } = addresses);
    const fellMs = findNextBucket();
    await insertMonitored(addresses.clickhouse, fellMs, { agent: MEANWHILE, score: 0.1 });
    senders = Array.from({ length: SENDERS }, sendAlways);
    await until(() => acknowledged.length > TRACES_BEFORE && listTold().length > 0, 60_000);
    source = addresses.clickhouse;
    await killMove(waitForStatement((statement) => statement.startsWith('INSERT INTO scores')));
    // While begun work is recorded: only spans and beats are refused.
    await killMove(until(() => isHeld('otel_traces')));
    await killMove(waitForStatement(() => isHeld('scores')));
    const killedMs = performance.now();
    const sent = acknowledged.length;
    await until(() => acknowledged.length > sent);
    reopenedMs = performance.now() - killedMs;

    await killMove(waitForStatement((statement) => statement.startsWith('ATTACH TABLE')));
    const ended = acknowledged.length;
    const holdEnds = sleep(HOLD_MS);
    const { url, username, password } = engine;
    const purgeKey = readFileSync(join(folder.dataDir, 'purge.key'), 'utf8').trim();
    const moved = { ...config, store: { url, username, password, database: DATABASE, purgeKey } };
    const early = new ServeFolder(moved);
    serveTooEarly = await early.start().catch((error: unknown) => error);
    await early.dispose();
    await holdEnds;
    writeAtEnd = await tryInsert('otel_traces');
    await killMove(waitForStatement((statement) => statement.startsWith(DROP_MARK)));
    repeated = await startMove().ended;
    requireDone(repeated);
    acknowledgedAtEnd = [ended, acknowledged.length];
    // The former store still answers reads.
    differences = await differingTables(source, target);
    otlpHttp = undefined;
    await folder.stop();
    open = await queryRows(
      target,
      `SELECT any(JSONExtractString(Event, 'series', 'agent')) AS agent, toString(IncidentId) AS incident
       FROM alert_events FINAL GROUP BY IncidentId HAVING groupArray(Status) = ['firing']`,
    );
    const [progress] = await queryRows<{ ms: string }>(
      target,
      'SELECT toUnixTimestamp64Milli(max(Bucket)) AS ms FROM monitor_progress',
    );
    recoveredMs = Number(progress?.ms) + MINUTE_MS;
    await insertMonitored(target, recoveredMs, { agent: EARLY, score: 0.9 });
    folder.configure(moved);
    ({ otlpHttp } = await folder.start());
    const sofar = acknowledged.length;
    await until(() => acknowledged.length > sofar + 20, 60_000);
    stopping.abort();
    await Promise.all(senders);
  });
  afterAll(async () => {
    stopping.abort();
    await folder.dispose();
    await gate.close();
    await engine.stop();
    await receiver.close();
  });

  it('takes spans again within half a minute after a kill in the last pass', () => {
    expect(reopenedMs).toBeLessThan(HOLD_ENDS_MS);
  });

  it('leaves a former store that never takes a span again after a kill between moved.json and the end', () => {
    expect(String(writeAtEnd)).toContain(`this store was moved to ${gate.url}`);
    expect(acknowledgedAtEnd[1]).toBe(acknowledgedAtEnd[0]);
  });

  it('lets no serve use the target before its end, and says after its end that nothing is left to do', () => {
    expect(String(serveTooEarly)).toContain('spanscore move has not finished with it');
    expect(repeated.stdout).toContain('an earlier move has ended there, and nothing was copied');
  });

  it('makes all tables equal', () => {
    expect(differences).toEqual([]);
  });

  it('loses no acknowledged span, and stores none twice, while senders get 503 and send again', async () => {
    const rows = await queryRows<{ TraceId: string; spans: string; distinct: string }>(
      target,
      'SELECT TraceId, count() AS spans, uniqExact(SpanId) AS distinct FROM otel_traces GROUP BY TraceId',
    );
    const stored = new Map(rows.map((row) => [row.TraceId, row]));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(rows.filter(({ spans, distinct }) => spans !== distinct)).toEqual([]);
    expect(refusals).toBeGreaterThan(0);
  });

  it('scores every trace once, and exports no score again', async () => {
    const countScores = async () =>
      Number(
        (
          await queryRows<{ n: string }>(
            target,
            `SELECT uniqExact(TraceId, Scorer) AS n FROM scores FINAL WHERE Scorer != '${MONITORED}'`,
          )
        )[0]?.n,
      );
    await expect.poll(countScores, { timeout: 60_000 }).toBe(new Set(acknowledged).size * SCORERS.length);
    const countExported = () =>
      receiver.requests.filter(({ path, body }) => path === '/scores' && !body.includes(`"${MONITORED}"`))
        .length;
    await expect.poll(countExported, { timeout: 60_000 }).toBe(await countScores());
    expect(listRepeated('/scores')).toEqual([]);
  });

  it('keeps an incident open, and sends its end once, and no alert again', async () => {
    expect(open.map(({ agent }) => agent)).toContain(EARLY);
    await expect.poll(listTold, { timeout: 150_000 }).toEqual([['firing', 'resolved'], ['firing']]);
    expect(listRepeated('/alerts')).toEqual([]);
    const ended = await queryRows(
      target,
      `SELECT toString(IncidentId) AS incident, toUnixTimestamp64Milli(assumeNotNull(EndsAt)) AS endsAtMs
       FROM alert_events FINAL WHERE Status = 'resolved'`,
    );
    const [{ incident } = {}] = open.filter(({ agent }) => agent === EARLY);
    expect(ended).toEqual([{ incident, endsAtMs: String(recoveredMs + MINUTE_MS) }]);
  });
});
