import { afterAll, describe, expect, it } from 'vitest';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { collectorConfig, foreignDatabase } from './roads.ts';

const program = await goProgram('otelcol');
const ROAD = 'clickhouse/map';
/** Tables without arrival times are looked through every few seconds. */
const SCORED_MS = 200_000;
/** With the starts of both programs. */
const TIMEOUT_MS = 400_000;

let folder: ServeFolder | undefined;
let otelcol: Otelcol | undefined;

afterAll(async () => {
  await otelcol?.stop();
  await folder?.dispose();
});

describe.skipIf('missing' in program)(
  'a serve that reads the tables of the Collector in its own engine',
  () => {
    it(
      'scores what the Collector writes there, though the tables come after it',
      { timeout: TIMEOUT_MS },
      async () => {
        const [enginePort = 0, port = 0] = await freePorts(2);
        const spans = { table: `${foreignDatabase(ROAD)}.otel_traces` };
        folder = new ServeFolder({ store: { port: enginePort, password: 'known to the Collector', spans } });
        const serve = await folder.start();
        const config = collectorConfig([ROAD], [port], serve, { brokers: [], topics: [] });
        otelcol = await startOtelcol('binary' in program ? program.binary : '', config);
        const trace = new AgentTraceBuilder();

        const response = await fetch(`http://127.0.0.1:${port}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(trace.request()),
        });
        expect(response.status).toBe(200);
        const statuses = async (): Promise<string[]> => {
          const sql = `SELECT DISTINCT Scorer, Status FROM decisions WHERE TraceId = '${trace.traceId}' ORDER BY Scorer`;
          const rows = await queryRows<{ Scorer: string; Status: string }>(serve.clickhouse, sql);
          return rows.map(({ Scorer, Status }) => `${Scorer}: ${Status}`);
        };
        await until(
          async () => (await statuses()).includes('behaviour: scored'),
          SCORED_MS,
          () => folder?.output.slice(-2_000),
        );
      },
    );
  },
);
