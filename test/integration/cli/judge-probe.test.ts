import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterEach, expect, it } from 'vitest';
import { probeJudges } from '../../../src/cli/checks/judge-probe.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { parseConfig } from '../../../src/app/config/index.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import {
  judgeFaults,
  replyText,
  startJudgeServer,
  type JudgeServer,
  type ScriptedReply,
} from '../../support/fakes/judge-server.ts';
import { runCommand } from '../../support/processes/run-command.ts';

let judge: JudgeServer | undefined;

afterEach(async () => judge?.close());

async function probe(reply: () => ScriptedReply) {
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
  return probeJudges(config);
}

it('asks each judge of a rule once, and prints its model, time, tokens and cost', async () => {
  const findings = await probe(() => replyText('ok', { usage: { prompt_tokens: 20, completion_tokens: 1 } }));
  expect(findings).toEqual([
    {
      check: 'judge local/qwen3',
      status: 'ok',
      detail: expect.stringMatching(/^model qwen3 answered in \d+ ms, 20 tokens in, 1 out, 0\.000022 USD$/),
    },
  ]);
  expect(judge?.requests).toHaveLength(1);
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
});
