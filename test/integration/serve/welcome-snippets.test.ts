import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileFunction } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  chooseEndpoint,
  endpointVariables,
  SDK_SETTINGS,
  writeSettings,
  type SdkSetting,
} from '../../../src/dashboard/view-models/sdk-settings.ts';
import { startServe, type Serve } from '../../../src/serve.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { tellNotProved } from '../../support/not-proved.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'spanscore-welcome-'));
const any = { endpoint: '127.0.0.1:0' };
let serve: Serve;
let endpoint: string;

beforeAll(async () => {
  serve = await startServe(
    { store: { dataDir: folder }, receivers: { otlp: { http: any, grpc: any } }, api: any, rules: [] },
    { log: silentLog },
  );
  const status = (await (await fetch(`${serve.addresses.api}/api/v1/status`)).json()) as { otlpHttp: string };
  endpoint = chooseEndpoint(status.otlpHttp, '127.0.0.1');
});
afterAll(async () => {
  await serve.stop();
  rmSync(folder, { recursive: true, force: true });
});

const isInstalled = (program: string) =>
  run(program, ['--version']).then(
    () => true,
    () => false,
  );

const isShell = ({ lines }: SdkSetting) => lines.every((line) => line.startsWith('export '));
const PROPERTY = /^(#.*|[a-z][a-z0-9.-]*=\S+)$/u;

/** Reads a text in its own format. Throws when it has a fault. */
async function parse(setting: SdkSetting, text: string): Promise<void> {
  if (isShell(setting)) {
    await run('sh', ['-n', '-c', text]);
  } else if (setting.language === 'JavaScript') {
    compileFunction(`return async () => {\n${text}\n}`);
  } else if (setting.language === 'Java') {
    const wrong = text.split('\n').filter((line) => !PROPERTY.test(line));
    if (wrong.length > 0) {
      throw new Error(`no properties: ${wrong.join(', ')}`);
    }
  } else if (await isInstalled('python3')) {
    await run('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', text]);
  } else {
    tellNotProved(`the settings of ${setting.name}`, 'there is no python3 here');
  }
}

const NODE_PROGRAM = `
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
const traceId = 'c0ffee'.padEnd(32, '0');
const span = {
  name: 'invoke_agent weather',
  kind: 0,
  spanContext: () => ({ traceId, spanId: 'c0ffee0000000000', traceFlags: 1 }),
  startTime: [Math.floor(Date.now() / 1000), 0],
  endTime: [Math.floor(Date.now() / 1000) + 1, 0],
  duration: [1, 0],
  status: { code: 0 },
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather' },
  links: [],
  events: [],
  ended: true,
  resource: resourceFromAttributes({ 'service.name': 'welcome' }),
  instrumentationScope: { name: 'welcome' },
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
};
const exporter = new OTLPTraceExporter();
exporter.export([span], async ({ code, error }) => {
  await exporter.shutdown();
  console.log(code === 0 ? traceId : String(error));
});
`;

describe('the page of the first day', () => {
  it('has variables with which the exporter of OpenTelemetry sends to this serve', async () => {
    const program = `${endpointVariables(endpoint)}\nexec '${process.execPath}' --input-type=module -e "$PROGRAM"`;
    const environment = { ...process.env, PROGRAM: NODE_PROGRAM };
    const { stdout } = await run('sh', ['-c', program], { cwd: ROOT, env: environment });
    const traceId = stdout.trim();
    expect(traceId).toMatch(/^[0-9a-f]{32}$/u);
    await expect
      .poll(async () => (await fetch(`${serve.addresses.api}/api/v1/traces/${traceId}`)).status)
      .toBe(200);
  });

  it.each(SDK_SETTINGS)('has settings of $name ($language) in the format of their file', async (setting) => {
    const text = writeSettings(setting, endpoint);
    await parse(setting, text);
    expect(text).not.toContain('${');
    for (const [url] of text.matchAll(/https?:\/\/[^'"\s]+/gu)) {
      const headers = { 'content-type': 'application/json' };
      expect([url, (await fetch(url, { method: 'POST', headers, body: '{}' })).status]).toEqual([url, 200]);
    }
  });

  it.each(SDK_SETTINGS.filter(({ install }) => install !== undefined))(
    'installs named packages for $name',
    async ({ install = '', language }) => {
      await run('sh', ['-n', '-c', install]);
      const program = language === 'Python' ? 'pip' : 'npm';
      expect(install).toMatch(new RegExp(String.raw`^${program} install( (@[\w-]+/)?[\w.-]+)+$`, 'u'));
    },
  );

  it.each(SDK_SETTINGS.filter(({ page }) => page !== undefined))(
    'has lines of the tested program for $name',
    (setting) => {
      const text = readFileSync(join(ROOT, 'docs', 'quickstarts', `${setting.page}.md`), 'utf8');
      const plain = (line: string) => line.replaceAll('`', "'").trim();
      const known = new Set(text.split('\n').map(plain));
      const unknown = writeSettings(setting, '${endpoint}')
        .split('\n')
        .filter((line) => !known.has(plain(line)));
      expect(unknown).toEqual([]);
    },
  );

  it('takes the host of the dashboard for a receiver on all addresses, and the default port for none', () => {
    expect(chooseEndpoint('http://0.0.0.0:14318', 'spans.example.com')).toBe(
      'http://spans.example.com:14318',
    );
    expect(chooseEndpoint('https://[::]:4318', 'spans.example.com')).toBe('https://spans.example.com:4318');
    expect(chooseEndpoint('http://10.0.0.7:4318', 'spans.example.com')).toBe('http://10.0.0.7:4318');
    expect(chooseEndpoint(null, 'spans.example.com')).toBe('http://spans.example.com:4318');
  });
});
