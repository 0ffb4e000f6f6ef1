import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startCollector } from '../../collector/collector.ts';
import { connectStore, openConnectedStore } from '../../src/app/connect-store.ts';
import { parseConfig } from '../../src/config/index.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { emptyFolder, jsonLines, runCli } from '../support/cli.ts';
import { attribute, jsonSpan, traceRequest } from '../support/otlp-requests.ts';

const REDACTED = new URL('../fixtures/spans/koog-default.traces.jsonl', import.meta.url);
const SPRING = new URL('../fixtures/spans/spring-ai-2-agent', import.meta.url);
const SPRING_TRACE = 'b9b1001c4a333dfa7ee59adccaeb2d2d';
const ODD_TRACE = '0af7651916cd43dd8448eb211c80319c';

const folder = emptyFolder();

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n').filter(Boolean);
}

/** Puts a run that can be scored, one that is redacted and a span of an unknown kind into the store of the folder. */
beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), 'rules: [{ name: all, scorers: [no-tool-errors] }]\n');
  const config = parseConfig({ store: { dataDir: '.spanscore' } }, { cwd: folder });
  const connection = await connectStore(config, silentLog);
  const store = await openConnectedStore(connection, silentLog);
  const collector = await startCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    http: { host: '127.0.0.1', port: 0 },
    log: silentLog,
  });
  const send = async (signal: 'traces' | 'logs', body: string) => {
    const answer = await fetch(`http://127.0.0.1:${collector.address.port}/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    if (!answer.ok) {
      throw new Error(`the collector answered ${answer.status}`);
    }
  };
  const odd = jsonSpan({ name: 'odd', attributes: [attribute('gen_ai.odd', 'x')] });
  const traces = [...linesOf(REDACTED.pathname), ...linesOf(`${SPRING.pathname}.traces.jsonl`)];
  for (const body of [...traces, JSON.stringify(traceRequest([odd]))]) {
    await send('traces', body);
  }
  for (const body of linesOf(`${SPRING.pathname}.logs.jsonl`)) {
    await send('logs', body);
  }
  await collector.stop();
  await store.close();
  await connection.release();
});

describe('what is understood of stored traces', () => {
  it('conventions sums it up per service and scope, with the setting to turn on', async () => {
    const { code, stdout } = await runCli(['conventions'], { cwd: folder });

    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^the newest \d+ traces since .*: 3 of agents or models, 1 of these without a run$/m,
    );
    expect(stdout).toMatch(/^koog-weather +koog-weather +1 +11 +1 +0 +/m);
    expect(stdout).toMatch(/^spring-ai-weather +org\.springframework\.boot +1 +\d+ +1 +1 +/m);
    expect(stdout).toMatch(/1 of 1 runs cannot be scored: no_content_captured: .*setVerbose\(true\)/);
    expect(stdout).toMatch(/not understood: "odd" \(1 spans\).*attributes gen_ai\.odd$/m);
  });

  it('conventions says how many traces it looked at, and that there may be more', async () => {
    const { stdout } = await runCli(['conventions', '--limit', '1', '--json'], { cwd: folder });

    expect(JSON.parse(stdout)).toMatchObject({ tracesListed: 1, limitReached: true, unreadable: 0 });
  });

  it('explain says what was not understood of a trace', async () => {
    const { code, stdout } = await runCli(['explain', ODD_TRACE, '--json'], { cwd: folder });

    expect(code).toBe(0);
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({
        rule: '*',
        status: 'not_understood',
        computed: true,
        reason: expect.stringContaining('1 span "odd"') as string,
      }),
    );
  });

  it('inspect reads texts that came as ordinary log records', async () => {
    const { stdout } = await runCli(['inspect', SPRING_TRACE], { cwd: folder });

    expect(stdout).toContain('It is 18°C and rainy in Paris right now.');
  });
});
