import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver } from '../../support/fakes/http-receiver.ts';
import { startJudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

const ROOT = new URL('../../../', import.meta.url);
const PRELOAD = new URL('../../support/processes/take-coverage.mjs', import.meta.url);

/** Longer than the interval of every loop that runs each second or each ten seconds: what runs idle has run. */
const IDLE_MS = 12_000;

/** Several ticks, so that what a waiting trace needs runs in each walk. */
const DECISION_WAIT = '2s';

/**
 * Files and named functions of the source that each span runs through, with a few as room: on a busy machine a loop may run during both
 * walks. They are lowered only.
 */
const MOST_FILES = 182;
const MOST_FUNCTIONS = 1_060;

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly [{ readonly startOffset: number; readonly count: number }];
  }[];
}

/** Lists the functions of the source that ran, as `file:offset name`. */
function listRun(scripts: readonly ScriptCoverage[]): string[] {
  const root = ROOT.href;
  return scripts
    .filter(({ url }) => url.startsWith(`${root}src/`) || url.startsWith(`${root}collector/`))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges: [range] }) => range.count > 0)
        .map(
          ({ functionName, ranges: [range] }) =>
            `${url.slice(root.length)}:${range.startOffset} ${functionName}`,
        ),
    );
}

it('takes one span from the socket to its exported score through few files and functions', async () => {
  const judge = await startJudgeServer(verdictJudge);
  const receiver = await startHttpReceiver();
  const folder = new ServeFolder({
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl } },
      prices: { 'local/judge': { input: 0, output: 0 } },
    },
    rules: [{ name: 'all', scorers: ['hallucination'], budget: { perDay: 1 } }],
    exporters: { otlp: { endpoint: receiver.url } },
    readiness: { decisionWait: DECISION_WAIT },
  });
  const file = `${folder.path}/coverage.json`;
  try {
    const { pid, otlpHttp } = await folder.start({
      NODE_OPTIONS: `--import=${PRELOAD.href}`,
      NODE_DISABLE_COMPILE_CACHE: '1',
      COVERAGE_FILE: file,
    });
    const takeCoverage = async () => {
      rmSync(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      await until(() => existsSync(file));
      return listRun(JSON.parse(readFileSync(file, 'utf8')) as ScriptCoverage[]);
    };
    await sleep(IDLE_MS);
    const idle = await takeCoverage();
    const walks: string[][] = [];
    const startedMs = performance.now();
    for (const tempC of [18, 19]) {
      const seen = receiver.requests.length;
      const tool = { name: 'get_weather', args: { city: 'Paris' }, result: { tempC } };
      expect(await sendTraces(otlpHttp, anAgentTrace().with(tool).request())).toBe(200);
      const hasScore = (signal: string) =>
        receiver.requests
          .slice(seen)
          .some(({ path, body }) => path.endsWith(signal) && body.includes('hallucination'));
      await until(
        () => hasScore('/v1/traces') && hasScore('/v1/logs'),
        90_000,
        () => folder.output,
      );
      walks.push(await takeCoverage());
    }
    // Some loops have work only once there is a score. What ran in both walks by its interval runs again in as long a time.
    await sleep(Math.max(IDLE_MS, performance.now() - startedMs));
    const whenIdle = new Set([...idle, ...(await takeCoverage())]);
    // What runs seldom runs in one walk by chance; in both is what each span needs.
    const [first = [], second = []] = walks;
    const inSecond = new Set(second);
    const walk = first.filter((name) => inSecond.has(name) && !whenIdle.has(name));
    const files = new Set(walk.map((name) => name.slice(0, name.indexOf(':'))));
    const named = walk.filter((name) => !name.endsWith(' '));

    expect(files.size).toBeLessThanOrEqual(MOST_FILES);
    expect(named.length).toBeLessThanOrEqual(MOST_FUNCTIONS);
  } finally {
    await folder.dispose();
    await judge.close();
    await receiver.close();
  }
});
