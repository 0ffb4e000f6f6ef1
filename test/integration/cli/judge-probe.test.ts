import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterEach, expect, it } from 'vitest';
import { probeJudges } from '../../../src/cli/checks/doctor-checks.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import {
  judgeFaults,
  replyDecisions,
  replyJson,
  startJudgeServer,
  type JudgeServer,
  type JudgeScript,
  type ScriptedReply,
} from '../../support/fakes/judge-server.ts';
import { runCommand } from '../../support/processes/run-command.ts';

let judge: JudgeServer | undefined;

afterEach(async () => judge?.close());

async function probe(reply: JudgeScript) {
  judge = await startJudgeServer(reply);
  const config = parseConfig(
    {
      judges: {
        default: 'local/qwen3',
        providers: { local: { baseURL: judge.baseUrl, apiKey: 'k' } },
        prices: { 'local/qwen3': { input: 1, output: 2 } },
      },
      rules: [{ name: 'a', scorers: ['hallucination', 'faithfulness', 'tone'] }],
    },
    { scorers: PREBUILT_SCORERS },
  );
  const probed = await probeJudges(config);
  return probed.map(({ check }) => check);
}

const USAGE = { usage: { prompt_tokens: 10, completion_tokens: 1 } };

it('asks each judge of a rule two known questions, and prints its model, time, tokens and cost', async () => {
  const findings = await probe(({ prompt }) =>
    replyJson({ verdict: prompt.includes('snow') ? 'no' : 'yes' }, USAGE),
  );
  expect(findings).toEqual([
    {
      check: 'judge local/qwen3',
      status: 'ok',
      detail: expect.stringMatching(
        /^model qwen3 answered twice in \d+ ms, 20 tokens in, 2 out, 0\.000024 USD, 2 of 2 known answers right$/,
      ),
    },
  ]);
  expect(judge?.requests).toHaveLength(2);
});

it('says that a judge answers in the right form but judges wrong', async () => {
  const [finding] = await probe(() => replyJson({ verdict: 'yes' }));
  expect(finding).toMatchObject({
    status: 'failed',
    detail: expect.stringMatching(/^answers in the right form but judges wrong: 1 of 2; model qwen3/),
  });
});

it.each([
  ['a dead key', judgeFaults.unauthorised, 'HTTP 401', 'set judges.providers.local.apiKey'],
  [
    'a model that is not there',
    judgeFaults.notFound,
    'no such model',
    'check judges.providers.local.baseURL',
  ],
  ['a web page', judgeFaults.html, 'answers with a web page', 'check judges.providers.local.baseURL'],
  [
    'a model that is being loaded, in the words of its server',
    (): ScriptedReply => ({
      kind: 'raw',
      status: 400,
      body: '{"object":"error","message":"It is being loaded"}',
    }),
    'It is being loaded',
    'check judges.providers.local.baseURL',
  ],
  ['a rate limit', judgeFaults.rateLimited, 'HTTP 429', 'set judges.providers.local.requestsPerMinute'],
])('tells of %s after one call, with what to do', async (_what, fault, detail, fix) => {
  const [finding] = await probe(() => fault());
  expect(finding).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining(detail),
    fix: expect.stringContaining(fix),
  });
  expect(judge?.requests).toHaveLength(1);
});

it('asks a decision judge two known questions, and says that it decides', async () => {
  judge = await startJudgeServer((request) => {
    const yes = JSON.stringify(request.body).includes('snow') ? 0.1 : 0.9;
    return replyDecisions(request, () => ({ yes, no: 1 - yes }));
  });
  const config = parseConfig({
    judges: {
      default: 'gate/luna',
      providers: { gate: { baseURL: judge.baseUrl } },
      options: { 'gate/luna': { decision: true } },
    },
    rules: [],
  });
  expect(await probeJudges(config)).toMatchObject([
    {
      check: { status: 'ok', detail: expect.stringMatching(/tokens in, 0 out.* 2 of 2/) as string },
      probe: { judge: 'gate/luna', model: 'luna', ok: true, type: 'decision', temperature: false },
    },
  ]);
});

it('is what doctor --judge prints; without the flag no question is asked', async () => {
  judge = await startJudgeServer(() => judgeFaults.unauthorised());
  const cwd = emptyFolder();
  const port = { endpoint: '127.0.0.1:0' };
  writeFileSync(
    join(cwd, 'spanscore.config.yaml'),
    stringify({
      receivers: { otlp: { http: port, grpc: port } },
      api: port,
      judges: { default: 'local/qwen3', providers: { local: { baseURL: judge.baseUrl } } },
      rules: [{ name: 'a', scorers: ['hallucination'] }],
    }),
  );

  await runCommand(['doctor'], { cwd });
  expect(judge.requests).toHaveLength(0);
  const { code, stdout } = await runCommand(['doctor', '--judge'], { cwd });
  expect(code).toBe(69);
  expect(stdout).toMatch(/✗ judge local\/qwen3: the judge provider refuses the key .*HTTP 401/);
  expect(stdout).toContain('→ set judges.providers.local.apiKey');

  const lines = (await runCommand(['doctor', '--judge', '--json'], { cwd })).stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    {
      judge: 'local/qwen3',
      kind: 'openai-compatible',
      ok: false,
      ms: expect.any(Number),
      model: null,
      type: 'chat',
      structured: 'schema',
      temperature: true,
      error: expect.stringContaining('HTTP 401'),
    },
    { ok: false, checks: expect.any(Array) },
  ]);
});
