import { afterAll, beforeAll, expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

const SCORERS = ['keyword-coverage', 'no-tool-errors'];

let receiver: HttpReceiver;
let folder: ServeFolder;
let serve: ServeAddresses;

beforeAll(async () => {
  receiver = await startHttpReceiver();
  folder = new ServeFolder({
    rules: [{ name: 'all', scorers: SCORERS }],
    exporters: { webhook: { url: `${receiver.url}/hook`, attempts: 1 } },
  });
  serve = await folder.start();
}, 120_000);

afterAll(async () => {
  await folder.dispose();
  await receiver.close();
});

it('a score that the web hook refuses is listed by dlq, and delivered by a replay', async () => {
  const trace = anAgentTrace().answering('The web hook does not like this one.');
  receiver.answer(({ path, body }) => (path === '/hook' && body.includes(trace.traceId) ? 422 : 200));
  expect(await sendTraces(serve.otlpHttp, trace.request())).toBe(200);
  const listLetters = async () => {
    const { stdout } = await runCli(['dlq', 'list', '--json'], { cwd: folder.path });
    return jsonLines(stdout) as { source: string; signal: string; reason: string }[];
  };
  await until(
    async () => {
      // A delivered score shows that the receiver is there.
      await sendTraces(serve.otlpHttp, anAgentTrace().request());
      return (await listLetters()).length >= SCORERS.length;
    },
    120_000,
    () => folder.output,
  );
  expect(await listLetters()).toMatchObject(
    SCORERS.map(() => ({ source: 'webhook', signal: 'scores', reason: 'the webhook answered HTTP 422' })),
  );
  receiver.answer(200);
  const refused = receiver.requests.filter(
    ({ path, body }) => path === '/hook' && body.includes(trace.traceId),
  );
  const ids = [...new Set(refused.map(({ headers }) => String(headers['webhook-id'])))];

  const { code } = await runCli(['dlq', 'replay', '--all'], { cwd: folder.path });

  expect(code).toBe(0);
  await until(
    () => {
      const again = receiver.requests.slice(receiver.requests.indexOf(refused.at(-1)!) + 1);
      const hooks = again.filter(({ path, body }) => path === '/hook' && body.includes(trace.traceId));
      const received = new Set(hooks.map(({ headers }) => headers['webhook-id']));
      return ids.every((id) => received.has(id));
    },
    60_000,
    () => folder.output,
  );
  expect(await listLetters()).toEqual([]);
});
