import { createServer } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import {
  checkJudge,
  checkLoops,
  checkNode,
  checkPorts,
  checkSkew,
  describeAhead,
} from '../../../../src/cli/checks/doctor-checks.ts';
import { parseConfig, type ConfigInput } from '../../../../src/configuration.ts';
import { EXPORTERS, RECEIVERS } from '../../../../src/components.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { folderWith } from '../../../support/builders/config-files.ts';

function buildConfig(input: ConfigInput) {
  return parseConfig(input, { cwd: folderWith({}) });
}

function answering(status: number) {
  const asked: { url: string; authorization: string | null }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    asked.push({ url: request.url, authorization: request.headers.get('authorization') });
    return new Response('{}', { status });
  };
  return { asked, deps: { fetch, log: silentLog } };
}

const JUDGED = {
  judges: { default: 'local/m', providers: { local: { baseURL: 'http://127.0.0.1:1/v1/', apiKey: 'key' } } },
} satisfies ConfigInput;

describe('doctor', () => {
  it.each([
    ['v22.18.0', 'ok'],
    ['v24.1.0', 'ok'],
    ['v22.17.1', 'failed'],
    ['v20.19.0', 'failed'],
  ])('judges Node %s %s', (version, status) => {
    expect(checkNode(version).status).toBe(status);
  });

  it('tells a port that is taken, and which key to change', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;

    const findings = await checkPorts(
      buildConfig({
        api: { endpoint: `127.0.0.1:${port}` },
        receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
      }),
      RECEIVERS,
    );
    other.close();

    expect(findings.map((finding) => finding.status)).toEqual(['ok', 'ok', 'failed']);
    expect(findings[2]).toMatchObject({
      detail: expect.stringContaining('EADDRINUSE'),
      fix: 'stop the process that uses it, or set api.endpoint',
    });
  });

  it('asks the judge for its models with the key', async () => {
    const { asked, deps } = answering(200);

    const finding = await checkJudge(buildConfig(JUDGED), deps);

    expect(finding.status).toBe('ok');
    expect(asked).toEqual([{ url: 'http://127.0.0.1:1/v1/models', authorization: 'Bearer key' }]);
  });

  it.each([
    [401, 'failed'],
    [403, 'failed'],
    [404, 'warning'],
    [500, 'warning'],
  ])('judges a judge that answers %i %s', async (status, expected) => {
    expect((await checkJudge(buildConfig(JUDGED), answering(status).deps)).status).toBe(expected);
  });

  it('sends no request when no judge is configured', async () => {
    const { asked, deps } = answering(200);

    const finding = await checkJudge(buildConfig({}), deps);

    expect(finding).toMatchObject({ status: 'ok', detail: expect.stringContaining('SPANSCORE_JUDGE') });
    expect(asked).toEqual([]);
  });

  it('warns of a clock that is far off', () => {
    expect(checkSkew(1_000_000, { askedMs: 1_000_850, answeredMs: 1_000_900 }).status).toBe('ok');
    expect(checkSkew(1_000_000, { askedMs: 4_600_000, answeredMs: 4_600_050 })).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('3600000 ms ahead'),
    });
    expect(checkSkew(4_600_000, { askedMs: 999_950, answeredMs: 1_000_000 })).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('3600000 ms behind'),
    });
  });

  it('takes no slow answer for a clock that is off', () => {
    expect(checkSkew(1_000_000, { askedMs: 990_000, answeredMs: 1_010_000 })).toMatchObject({
      status: 'ok',
      detail: 'this machine is 0 ms ahead of the store',
    });
  });

  it('warns of rows ahead of the clock of the store', () => {
    expect(describeAhead({ table: 'members', rows: 2, aheadMs: 7_200_000 })).toMatchObject({
      check: 'stamps of members',
      status: 'warning',
      detail: expect.stringContaining('2 rows are up to 120 min ahead') as string,
    });
  });

  it.each([
    ['http://localhost:4318', 'warning'],
    ['http://127.0.0.1:4318/', 'warning'],
    ['http://127.0.0.1:4328', 'ok'],
    ['http://collector.example:4318', 'ok'],
  ])('judges scores sent to %s %s', (endpoint, expected) => {
    expect(checkLoops(buildConfig({ exporters: { otlp: { endpoint } } }), EXPORTERS).status).toBe(expected);
  });

  it("takes no variable of an agent's SDK for a loop: spanscore reads none", () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318');
    expect(checkLoops(buildConfig({}), EXPORTERS).status).toBe('ok');
    vi.unstubAllEnvs();
  });
});
