import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { KafkaWorld } from '../../support/collector/kafka-world.ts';
import { ExampleProject } from '../../support/processes/example-project.ts';

const missing = await kafkaMissing();

let broker: KafkaBroker;
const project = new ExampleProject('kafka');

beforeAll(async () => {
  if (missing === undefined) {
    broker = await startKafka();
  }
}, 300_000);
// One each: a process that cannot be ended must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => project.dispose());

describe.skipIf(missing !== undefined)('the example of Kafka', () => {
  it('scores a trace that came into the topic before the scorer was started, as its README shows', async () => {
    const variables = { KAFKA_BROKER: broker.brokers[0] ?? '' };
    const [topics, scores] = project.shownCommands();

    expect(await project.run(topics?.command ?? '', variables)).toEqual(topics?.output);
    expect(await project.run(topics?.command ?? '', variables)).toEqual([
      'otlp_spans: exists, left as it is',
      'otlp_logs: exists, left as it is',
    ]);
    // In the place of the Collector, whose files have a test of their own.
    const world = await KafkaWorld.open(broker);
    const value = readFileSync(join(project.folder, '../trace.json'));
    await world.send('otlp_spans', [{ value, headers: { 'content-type': 'application/json' } }]);
    await world.close();
    await project.startServe('scorer.yaml', variables);

    const { printed, shown } = await project.runUntilShown(scores ?? { command: '', output: [] });
    expect(printed).toEqual(shown);
  });
});
