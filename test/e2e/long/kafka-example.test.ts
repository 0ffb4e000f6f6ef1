import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { ExampleProject } from '../../support/processes/example-project.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendTraces } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

// A broker and two starts, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 600_000 });

const missing = await kafkaMissing();
/** Above the default `max.message.bytes` of a topic. */
const LARGE_TEXT = 'rain '.repeat(250_000);

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
  it('scores a trace that the edge received before the scorer was started, as its README shows', async () => {
    const variables = { KAFKA_BROKER: broker.brokers[0] ?? '' };
    const [topics, send, scores] = project.shownCommands();

    expect(await project.run(topics?.command ?? '', variables)).toEqual(topics?.output);
    expect(await project.run(topics?.command ?? '', variables)).toEqual([
      'otlp_spans: exists, left as it is',
      'otlp_logs: exists, left as it is',
    ]);
    const edge = await project.startServe('edge.yaml', variables);
    const address = { 'http://127.0.0.1:4318': edge.otlpHttp };
    expect(await project.run(send?.command ?? '', {}, address)).toEqual(send?.output);
    await project.startServe('scorer.yaml', variables);

    const { printed, shown } = await project.runUntilShown(scores ?? { command: '', output: [] });
    expect(printed).toEqual(shown);

    const large = anAgentTrace().withAttributes({ 'app.note': LARGE_TEXT });
    expect(await sendTraces(edge.otlpHttp, large.request())).toBe(200);
    const listTraces = async () => {
      const { stdout } = await runCli(['traces', '--json'], { cwd: project.folder });
      return (jsonLines(stdout) as { traceId: string }[]).map(({ traceId }) => traceId);
    };
    await until(async () => (await listTraces()).includes(large.traceId));
  });
});
