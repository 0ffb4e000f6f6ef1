import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { ExampleProject } from '../../support/processes/example-project.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { until } from '../../support/until.ts';

const program = await goProgram('otelcol');
const TOKEN = 'choose-a-long-secret';

let project: ExampleProject;
let otelcol: Otelcol | undefined;

afterEach(async () => {
  await otelcol?.stop();
  await project.dispose();
});

/** Starts the Collector of the example, and a way to start the spanscore that it sends to. */
async function startExample(senderToken: string) {
  project = new ExampleProject('collector');
  const [http = 0, grpc = 0, scorer = 0] = await freePorts(3);
  otelcol = await startOtelcol(
    'binary' in program ? program.binary : '',
    join(project.folder, 'collector.yaml'),
    {
      COLLECTOR_HTTP: `127.0.0.1:${http}`,
      COLLECTOR_GRPC: `127.0.0.1:${grpc}`,
      SCORER_ADDRESS: `http://127.0.0.1:${scorer}`,
      INGEST_TOKEN: senderToken,
    },
  );
  const [send, scores] = project.shownCommands();
  return {
    otelcol,
    sendTrace: async () => {
      const address = { 'http://127.0.0.1:4318': `http://127.0.0.1:${http}` };
      expect(await project.run(send?.command ?? '', {}, address)).toEqual(send?.output);
    },
    startScorer: () =>
      project.startServe('spanscore.config.yaml', {
        INGEST_TOKEN: TOKEN,
        SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT: `127.0.0.1:${scorer}`,
      }),
    readScores: () => project.runUntilShown(scores ?? { command: '', output: [] }, { INGEST_TOKEN: TOKEN }),
  };
}

describe.skipIf('missing' in program)('the example of a Collector in front', () => {
  it('scores a trace that came while spanscore was away, as its README shows', async () => {
    const example = await startExample(TOKEN);

    await example.sendTrace();
    await until(() => example.otelcol.output().includes('Will retry the request'));
    await example.startScorer();

    const { printed, shown } = await example.readScores();
    expect(printed).toEqual(shown);
  });

  it('tells of a wrong token in the log of the Collector, and does not try again', async () => {
    const example = await startExample('another-long-secret');
    await example.startScorer();

    await example.sendTrace();

    await until(() => example.otelcol.output().includes('Dropping data'));
    expect(example.otelcol.output()).toContain('HTTP Status Code 401');
    expect(example.otelcol.output()).not.toContain('Will retry the request');
  });
});
