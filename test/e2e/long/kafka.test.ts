import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { KafkaWorld } from '../../support/collector/kafka-world.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

// Three starts and a catching up, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const ROUNDS = 2;

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
});
