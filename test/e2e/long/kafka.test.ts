import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { KafkaWorld } from '../../support/collector/kafka-world.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Three starts and a catching up, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const ROUNDS = 2;

const KILLS = Number(process.env['SPANSCORE_KILLS'] ?? 3);
const PARTITIONS = 4;
/** Records of the smallest slices of all partitions: the producer may rest in the second before a kill. */
const LEAST_AGAIN = PARTITIONS * 512;
/** Most records that wait to be stored, so that the end comes soon. */
const MOST_AHEAD = 20_000;
const RECORDS_PER_SEND = 200;

const missing = await kafkaMissing();

let broker: KafkaBroker;
let world: KafkaWorld;
let folder: ServeFolder | undefined;

beforeAll(async () => {
  if (missing === undefined) {
    broker = await startKafka();
    world = await KafkaWorld.open(broker);
  }
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => world?.close());
afterAll(() => folder?.dispose());

describe.skipIf(missing !== undefined)('serve with Kafka', () => {
  it('stores what the topics hold through kill -9 of everything, and keeps what it cannot read for dlq', async () => {
    const topic = await world.topic(2);
    const any = { endpoint: '127.0.0.1:0' };
    folder = new ServeFolder({
      receivers: {
        otlp: { http: any, grpc: any },
        kafka: { brokers: broker.brokers, topics: [topic], groupId: world.groupId },
      },
      rules: [],
    });
    const buildTraceId = (i: number) => i.toString(16).padStart(32, 'a');
    const send = (from: number, to: number) =>
      world.send(
        topic,
        Array.from({ length: to - from }, (_, i) => ({
          value: requestBytes(
            traceRequest([
              jsonSpan({
                traceId: buildTraceId(from + i),
                attributes: [attribute('gen_ai.operation.name', 'chat')],
              }),
            ]),
          ),
        })),
      );
    const cli = (...args: string[]) => runCli([...args, '--json'], { cwd: folder?.path ?? '' });
    const traces = async () => jsonLines((await cli('traces', '--limit', '500')).stdout).length;

    await world.send(topic, [{ value: 'no protobuf at all' }, { value: 'nor this' }]);
    await folder.start();
    for (let round = 0; round < ROUNDS; round++) {
      await send(round * 40, round * 40 + 40);
      await folder.killGroup();
      await folder.start();
    }
    await until(
      async () => (await traces()) === ROUNDS * 40,
      240_000,
      () => folder?.output.slice(-2_000),
    );
    await until(() => world.caughtUp(topic), 120_000);

    const listed = jsonLines((await cli('dlq', 'list')).stdout) as {
      id: string;
      body: string;
      reason: string;
    }[];
    // A producer that tries again may put a record into the topic twice: these are two records.
    const bodies = listed.map(({ body }) => Buffer.from(body, 'base64').toString());
    expect([...new Set(bodies)].sort()).toEqual(['no protobuf at all', 'nor this']);
    const [first, ...others] = listed;
    const replayed = await cli('dlq', 'replay', '--all');
    expect([replayed.code, jsonLines(replayed.stdout).length]).toEqual([3, listed.length]);
    expect(await cli('dlq', 'drop', first?.id ?? '')).toMatchObject({ code: 0 });
    const left = jsonLines((await cli('dlq', 'list')).stdout) as { id: string; attempts: number }[];
    expect(left.map(({ id }) => id).sort()).toEqual(others.map(({ id }) => id).sort());
    expect(new Set(left.map(({ attempts }) => attempts))).toEqual(new Set([2]));
    expect((await cli('dlq', 'drop', first?.id ?? '')).code).toBe(4);
    expect((await cli('dlq', 'replay')).code).toBe(2);
    expect(await folder.stop()).toBe(0);
    expect(folder.output).not.toContain('TimeoutNegativeWarning');
  });

  it('stores again at most what a second brings when it is killed under load', async () => {
    const topic = await world.topic(PARTITIONS);
    const any = { endpoint: '127.0.0.1:0' };
    folder = new ServeFolder({
      receivers: {
        otlp: { http: any, grpc: any },
        kafka: { brokers: broker.brokers, topics: [topic], groupId: world.groupId, sessionTimeout: '6s' },
      },
      rules: [],
    });
    const stopping = new AbortController();
    let sent = 0;
    let known = 0;
    const sends: number[] = [];
    const countLastSecond = () => RECORDS_PER_SEND * sends.filter((at) => at > Date.now() - 1_000).length;
    const producing = (async () => {
      while (!stopping.signal.aborted) {
        await until(() => stopping.signal.aborted || sent - known < MOST_AHEAD, 300_000);
        const values = Array.from({ length: RECORDS_PER_SEND }, () => {
          const span = jsonSpan({ traceId: (0xc0_00_00_00 + sent++).toString(16).padStart(32, '0') });
          return { value: requestBytes(traceRequest([span])) };
        });
        await world.send(topic, values);
        sends.push(Date.now());
      }
    })();
    let { clickhouse } = await folder.start();
    const count = async () => {
      const sql = `SELECT toFloat64(count()) AS rows, toFloat64(uniqExact(TraceId)) AS traces,
          toFloat64(uniqExactIf(TraceId, ArrivedAt > (SELECT max(ArrivedAt) FROM otel_traces) - INTERVAL 1 SECOND)) AS lately
        FROM otel_traces`;
      const [found] = await queryRows<{ rows: number; traces: number; lately: number }>(clickhouse, sql);
      known = found?.traces ?? 0;
      return { rows: found?.rows ?? 0, traces: known, lately: found?.lately ?? 0 };
    };
    let allowed = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { traces } = await count();
      let now = await count();
      await until(async () => (now = await count()).traces > traces + 2_000, 240_000);
      // A process that catches up stores more in a second than is sent.
      allowed += Math.max(LEAST_AGAIN, countLastSecond(), now.lately);
      await folder.killGroup();
      ({ clickhouse } = await folder.start());
    }
    stopping.abort();
    await producing;
    await until(() => world.caughtUp(topic), 240_000);
    const { rows, traces } = await count();
    const figure = `${rows - sent} of ${sent} traces stored a second time in ${KILLS} kills under load; ${allowed} came in the second before each`;
    process.stdout.write(`Kafka: ${figure}\n`);

    expect(traces).toBe(sent);
    expect(rows - sent).toBeLessThanOrEqual(allowed);
    expect(await folder.stop()).toBe(0);
  });
});
