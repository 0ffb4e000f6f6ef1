import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEASURES, nameMeasure } from '../../../src/domain/behaviour/measures.ts';
import { describe, it } from 'vitest';
import { type CliOptions, emptyFolder, jsonLines, runCli, startCli } from '../../support/processes/cli.ts';
import { isProcessAlive } from '../../support/processes/engine-directory.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';
import { until } from '../../support/until.ts';

const RECORDED = new URL('../../fixtures/spans/ai-sdk-v7-new.traces.jsonl', import.meta.url);
const TRACE = '11f9d845dab14324be6966ea320d72ad';
const CONFIG = `
readiness: { decisionWait: 500ms, maxWait: 30s }
receivers: { otlp: { http: { endpoint: "127.0.0.1:0" }, grpc: { endpoint: "127.0.0.1:0" } } }
api: { endpoint: "127.0.0.1:0" }
`;

interface Announced {
  pid: number;
  otlpHttp: string;
  otlpGrpc: string;
  api: string;
  clickhouse: { url: string; username: string; password: string; database: string };
}

/** A running `serve` in a folder of its own. */
async function startServing({ more = [], ...options }: CliOptions & { more?: readonly string[] } = {}) {
  const folder = emptyFolder();
  const addressFile = join(folder, '.spanscore/serve.json');
  writeFileSync(join(folder, 'spanscore.config.yaml'), CONFIG);
  const running = startCli(['serve', '--json', ...more], { cwd: folder, ...options });
  await until(() => existsSync(addressFile) && running.output.stdout.includes('\n'), 120_000);
  const announced = JSON.parse(readFileSync(addressFile, 'utf8')) as Announced;
  return { folder, addressFile, running, announced };
}

// Each test has processes of its own, and mostly waits for them.
describe.concurrent('serve', () => {
  it('announces itself, scores what comes, is used by commands beside it, and drains at SIGTERM', async ({
    expect,
  }) => {
    const { folder, addressFile, running, announced } = await startServing();
    const cli = async (...args: string[]) => runCli([...args, '--json'], { cwd: folder });

    expect(announced).toMatchObject({
      pid: running.child.pid,
      otlpGrpc: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
    expect(statSync(addressFile).mode & 0o777).toBe(0o600);
    expect(running.output.stdout).not.toContain(announced.clickhouse.password);
    expect((await fetch(`${announced.api}/healthz`)).status).toBe(200);
    // What is ready has two seconds to say so, which a busy machine may miss.
    await expect
      .poll(async () => (await fetch(`${announced.api}/readyz`)).status, { timeout: 60_000 })
      .toBe(200);

    for (const line of readFileSync(RECORDED, 'utf8').split('\n').filter(Boolean)) {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${announced.otlpHttp}/v1/traces`, { method: 'POST', headers, body: line });
      expect(answer.status).toBe(200);
    }
    await expect
      .poll(async () => jsonLines((await cli('explain', TRACE)).stdout), { timeout: 180_000, interval: 1000 })
      .toEqual([expect.objectContaining({ rule: 'default', scorer: 'behaviour', status: 'scored' })]);
    const scores = jsonLines((await cli('scores')).stdout) as { scorer: string }[];
    const doctor = await cli('doctor');

    expect(scores.map(({ scorer }) => scorer).toSorted()).toEqual(
      MEASURES.filter((measure) => measure !== 'path')
        .map(nameMeasure)
        .toSorted(),
    );
    expect(doctor.code).toBe(0);
    expect(doctor.stdout).toContain(`running serve (pid ${announced.pid})`);

    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
    expect(existsSync(addressFile)).toBe(false);
    expect(running.output.stderr).not.toContain('failed=');
  });

  it('drains and ends with 130 at Ctrl-C', async ({ expect }) => {
    const { folder, running } = await startServing();

    running.child.kill('SIGINT');

    expect((await running.ended).code).toBe(130);
    expect(existsSync(join(folder, '.spanscore/serve.json'))).toBe(false);
  });

  it('drains and ends when its terminal closes', async ({ expect }) => {
    if (!hasProgram('script', 'the end of a terminal', 'apt-get install bsdutils')) {
      return;
    }
    const { addressFile, running, announced } = await startServing({ terminal: true });

    running.child.kill('SIGKILL');

    await expect.poll(() => isProcessAlive(announced.pid), { timeout: 60_000 }).toBe(false);
    expect(existsSync(addressFile)).toBe(false);
  });

  it('reloads by the command and at SIGHUP: the whole file, or nothing of it', async ({ expect }) => {
    const { folder, running } = await startServing({ more: ['--watch'] });
    const reload = async (rules: string) => {
      writeFileSync(join(folder, 'spanscore.config.yaml'), CONFIG + rules);
      const { code, stdout } = await runCli(['reload', '--json'], { cwd: folder });
      return { code, ...(JSON.parse(stdout) as object) };
    };
    const rule = 'rules: [{ name: all, scorers: [keyword-coverage], sample: { rate: 1 } }]\n';

    expect(await reload(rule)).toMatchObject({
      code: 0,
      outcome: expect.stringMatching('applied|unchanged'),
      revision: 2,
    });
    expect(await reload(rule)).toMatchObject({ code: 0, outcome: 'unchanged', revision: 2 });
    expect(await reload(rule.replace('1 }', '7 }'))).toMatchObject({
      code: 78,
      outcome: 'refused',
      revision: 2,
      issues: [{ line: 5, path: 'rules[0].sample.rate' }],
    });
    expect(await reload(`${rule}log: { level: debug }\n`)).toMatchObject({
      code: 1,
      outcome: 'refused',
      needsRestart: ['log.level'],
    });
    writeFileSync(join(folder, 'spanscore.config.yaml'), CONFIG + rule.replace('1 }', '0.5 }'));
    await expect.poll(() => running.output.stderr, { timeout: 60_000 }).toContain('revision=3');
    running.child.kill('SIGHUP');
    await expect
      .poll(() => running.output.stderr, { timeout: 60_000 })
      .toContain('outcome=unchanged revision=3');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
    expect((await runCli(['reload'], { cwd: folder })).code).toBe(69);
  });

  it('drains and ends when the npx that started it is killed', async ({ expect }) => {
    const { addressFile, running } = await startServing({ npx: true });

    running.child.kill('SIGKILL');

    // The output of npx is closed when the last process that has it ends.
    expect((await running.ended).stderr).toContain('stopping: finishing the accepted work');
    expect(existsSync(addressFile)).toBe(false);
  });

  it('ends with 1 at once where another one serves, and names its process', async ({ expect }) => {
    const { folder, running } = await startServing();

    const { code, stderr } = await runCli(['serve'], { cwd: folder });

    expect(stderr).toContain(`process ${running.child.pid} serves the data directory`);
    expect(code).toBe(1);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('starts where a command hosts the engine, which makes room for it', async ({ expect }) => {
    const { folder, running } = await startServing();
    running.child.kill('SIGTERM');
    await running.ended;
    const command = startCli(['scores', '--follow'], { cwd: folder });
    const owner = () => readFileSync(join(folder, '.spanscore/owner.json'), 'utf8');
    await expect.poll(owner, { timeout: 120_000 }).toContain('"command":"scores","state":"serving"');

    const serve = startCli(['serve', '--json'], { cwd: folder });
    const { code, stderr } = await command.ended;
    await expect.poll(() => serve.output.stdout, { timeout: 120_000 }).toContain('"ready":true');

    expect(stderr).toContain('a spanscore serve waits for this data directory');
    expect(code).toBe(130);
    expect(serve.output.stderr).toContain(`waiting for process ${command.child.pid} to stop`);
    serve.child.kill('SIGTERM');
    expect((await serve.ended).code).toBe(0);
  });

  it('without the role store uses the store of the one that has it, and ends with 69 when that ends', async ({
    expect,
  }) => {
    const { folder, running } = await startServing();
    const second = startCli(['serve', '--role', 'collector,api', '--json'], { cwd: folder });
    await expect.poll(() => second.output.stdout.includes('\n'), { timeout: 120_000 }).toBe(true);

    running.child.kill('SIGTERM');
    const { code, stderr } = await second.ended;

    expect(stderr).toContain('has ended');
    expect(code).toBe(69);
  });

  it('ends with 69 when its store cannot be reached, and with 2 for a role that does not exist', async ({
    expect,
  }) => {
    const unreachable = await runCli(['serve', '--store-url', 'http://127.0.0.1:9']);
    const misspelt = await runCli(['serve', '--role', 'colector']);

    expect(unreachable.code).toBe(69);
    expect(misspelt.code).toBe(2);
    expect(misspelt.stderr).toContain('did you mean collector?');
  });
});

describe.concurrent('demo', () => {
  it('keeps 400 traces of three agents with an open incident, serves them until a signal, and serves them again', async ({
    expect,
  }) => {
    const cwd = emptyFolder();
    const dataDir = join(cwd, '.spanscore-demo');
    const serveDemo = async () => {
      const running = startCli(['demo', '--keep', '--json'], { cwd });
      await until(() => running.output.stdout.includes('\n'), 600_000);
      const [ready] = jsonLines(running.output.stdout) as { url: string }[];
      const ask = async (path: string) => (await fetch(`${ready?.url}api/v1/${path}`)).json();
      return { running, ready, ask };
    };
    const stop = async ({ running }: Awaited<ReturnType<typeof serveDemo>>) => {
      running.child.kill('SIGTERM');
      return (await running.ended).code;
    };

    const first = await serveDemo();
    expect(first.ready).toEqual({ event: 'ready', url: expect.any(String) as string, dataDir, traces: 400 });
    expect(await first.ask('traces/facets')).toMatchObject({
      runs: 400,
      agent: [{ value: 'support-agent' }, { value: 'trip-planner' }, { value: 'weather-agent' }],
      agentVersion: [{ value: '2.1.0' }, { value: '1.4.0' }, { value: '1.5.0' }],
      notScored: [{ value: 'no_content_captured' }],
    });
    expect(await first.ask('alerts?open=true')).toMatchObject({
      items: [{ alert: 'AnswersGotWorse', series: { agent: 'support-agent' }, agentVersion: '1.5.0' }],
    });
    expect(await first.ask('traces?order=worst&limit=1')).toMatchObject({
      items: [{ finding: { verdict: 'contradicted' } }],
    });
    expect(await first.ask('traces?toolError=true&limit=1')).toMatchObject({ items: [{ toolErrors: 1 }] });
    expect(await stop(first)).toBe(0);

    const second = await serveDemo();
    expect(await second.ask('traces/facets')).toMatchObject({ runs: 400 });
    expect(await stop(second)).toBe(0);
  }, 900_000);

  it('refuses to fill a folder of something else', async ({ expect }) => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, '.spanscore-demo'));
    const { code, stderr } = await runCli(['demo', '--keep'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('is not a folder of the demonstration');
  });

  it('scores four traces, and names the claim that contradicts the tool and the run whose tool failed', async ({
    expect,
  }) => {
    const { code, stdout } = await runCli(['demo', '--json']);
    const rows = jsonLines(stdout) as {
      traceId: string;
      scorer: string;
      score: number;
      reason: string;
    }[];
    const hallucinated = rows.filter((row) => row.scorer === 'hallucination' && row.score > 0);

    expect(code).toBe(0);
    expect(new Set(rows.map((row) => row.traceId)).size).toBe(4);
    expect(rows.filter(({ scorer }) => scorer === 'behaviour-answered').map(({ score }) => score)).toEqual([
      1, 1, 1, 1,
    ]);
    expect(rows.filter(({ scorer, score }) => scorer === 'behaviour-tool-errors' && score > 0)).toEqual([
      expect.objectContaining({ score: 1, reason: 'get_weather' }),
    ]);
    expect(hallucinated).toEqual([
      expect.objectContaining({ score: 0.5, reason: expect.stringContaining('The sky is sunny') }),
    ]);
  });
});
