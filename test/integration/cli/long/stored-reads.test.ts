import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aLetter } from '../../../support/builders/a-letter.ts';
import { emptyFolder, jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { replyJson, startJudgeServer, type JudgeServer } from '../../../support/fakes/judge-server.ts';
import {
  buildDecision,
  buildScore,
  newTraceId,
  storeFlags,
  testStore,
  type TestStore,
} from '../../../support/store/store-rows.ts';
import { agentRunSpans, store as ingest } from '../../../support/store/stored-agent.ts';

const ids = Array.from({ length: 21 }, newTraceId);
const folder = emptyFolder();
let its: TestStore;
let judge: JudgeServer;

beforeAll(async () => {
  its = await testStore();
  const words = { n: 1, quote: '', reason: 'No source says it.', agrees: true };
  judge = await startJudgeServer(() => replyJson({ verdicts: [words] }));
  const rules = [
    { name: 'live', scorers: ['keyword-coverage'] },
    { name: 'chats', target: 'session', scorers: ['tone'] },
  ];
  writeFileSync(
    join(folder, 'spanscore.config.json'),
    JSON.stringify({
      readiness: { decisionWait: '1ms', maxWait: '1m' },
      judges: {
        providers: { local: { baseURL: judge.baseUrl } },
        options: { 'local/luna': { decision: true } },
        prices: { 'local/luna': { input: 0.1, output: 0 }, 'local/small': { input: 0.25, output: 2 } },
      },
      rules,
    }),
  );
  await Promise.all(ids.map((traceId) => ingest(its.store, agentRunSpans(traceId))));
});
afterAll(async () => {
  await its.stop();
  await judge.close();
});

async function command(...args: readonly string[]) {
  const result = await runCommand([...args, ...storeFlags(its.options)], { cwd: folder });
  return { ...result, rows: () => jsonLines(result.stdout) as Record<string, unknown>[] };
}

describe('a preview', () => {
  const preview = (...more: string[]) => command('preview', '--json', ...more);

  it('shows what a rule would do, with verdicts, and what one of a file would that is not loaded', async () => {
    const one = await preview('--rule', 'live', '--sample', '2');
    expect(one.code).toBe(0);
    expect(one.rows()).toMatchObject([
      {
        rule: { name: 'live', inForce: null },
        matched: 21,
        selected: 21,
        left: {},
        estimate: { basis: 'none', costUsd: 0 },
        traces: [
          { verdicts: [{ scorer: 'keyword-coverage', status: 'scored', stored: null }] },
          { verdicts: [{ scorer: 'keyword-coverage', status: 'scored' }] },
        ],
        monitors: [],
      },
    ]);
    const file = join(folder, 'new-rules.yaml');
    writeFileSync(file, 'rules: [{ name: new, scorers: [tone], where: { service: [nobody] } }]\n');
    const other = await preview('--rules', file);
    expect(other.rows()).toMatchObject([
      { rule: { name: 'new' }, selected: 0, left: { where: 21 }, traces: [] },
    ]);
    const text = await command('preview', '--rule', 'live', '--sample', '1');
    expect(text.stdout).toContain('rule live on trace, ');
    expect(text.stdout).toContain('21 traces · 21 would be scored');
  });

  it('forecasts a cascade for its share and two others', async () => {
    const file = join(folder, 'cascade.yaml');
    const judges = '[local/luna, local/small]';
    writeFileSync(
      file,
      `scorers: { policy: { ask: Is it polite?, cascade: { judges: ${judges}, share: 0.3 } } }
rules: [{ name: two, scorers: [policy] }]\n`,
    );
    const shown = await preview('--rules', file, '--sample', '0');
    const [document] = shown.rows() as { cascade: { share: number; costUsd: number; width95: number }[] }[];
    const [less, own, more] = document?.cascade ?? [];
    expect([less, own, more].map((each) => each?.share)).toEqual([0.15, 0.3, 0.6]);
    expect(less?.costUsd).toBeLessThan(own?.costUsd ?? 0);
    expect(own?.costUsd).toBeLessThan(more?.costUsd ?? 0);
    expect(less?.width95).toBeGreaterThan(own?.width95 ?? 1);
    expect(own?.width95).toBeGreaterThan(more?.width95 ?? 1);
    const text = await command('preview', '--rules', file, '--sample', '0');
    expect(text.stdout).toMatch(
      /cascade policy with share 0\.3: about .* USD, 95 % interval of the mean 0\.\d+ wide/u,
    );
  });

  it('refuses what it cannot show', async () => {
    expect(await preview()).toMatchObject({ code: 2 });
    const unknown = await preview('--rule', 'nobody');
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toContain('there is no rule nobody; the rules are live, chats');
    const file = join(folder, 'bad-rules.yaml');
    writeFileSync(file, 'rules: [{ name: new, scorers: [tone], wher: {} }]\n');
    expect(await preview('--rules', file)).toMatchObject({ code: 78 });
  });
});

describe('a SELECT of a person', () => {
  const traces = 'SELECT uniq(TraceId) AS traces FROM otel_traces';

  it('prints a table, lines of JSON or a format of the engine', async () => {
    expect((await command('sql', traces)).stdout).toMatch(/┌─traces─┐\n.*│ +21 │/u);
    expect((await command('sql', traces, '--json')).rows()).toMatchObject([
      { traces: expect.anything() as unknown },
    ]);
    expect((await command('sql', traces, '--format', 'CSV')).stdout).toBe('21\n');
  });

  it.each([
    ['SELEC 1'],
    ['SELECT * FROM system.users'],
    ['SELECT 1', '--format', 'a b'],
    ['SELECT 1', '--format', 'Nonsense'],
  ])('that is refused ends with 2: %s %s %s', async (...args) => {
    const { code, stdout, stderr } = await command('sql', ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/error: (?:query|--format): /u);
  });
});

describe('a backfill of traces that came a moment ago', () => {
  const backfill = (...more: string[]) => command('backfill', '--from', '1h', '--json', ...more);

  const last = ({ rows }: Awaited<ReturnType<typeof backfill>>) => rows().at(-1);

  it('scores the traces that its dry run counts, and the second time reports that all were scored already', async () => {
    const dry = await backfill('--scorer', 'tone', '--dry-run');
    expect(dry.rows()).toMatchObject([
      { dryRun: true, matched: 21, skipped: {}, remaining: 21, estimate: { basis: 'none', judgeCalls: 0 } },
    ]);
    const real = await backfill('--scorer', 'tone');
    const first = last(real);
    expect(first).toMatchObject({
      status: 'done',
      matched: 21,
      scored: 21,
      skipped: {},
      failed: {},
      remaining: 0,
    });
    expect(new Set(real.rows().map(({ id }) => id))).toEqual(new Set([first?.['id']]));
    expect(real.code).toBe(0);
    const again = await backfill('--scorer', 'tone');
    expect(last(again)).toMatchObject({ matched: 21, scored: 0, skipped: { already_scored: 21 } });
    expect(again.stderr).toContain('all 21 traces were scored already: nothing was left to score\n');
    const listed = await command('backfill', 'list', '--json');
    expect(listed.rows().map(({ id }) => id)).toEqual([last(again)?.['id'], first?.['id']]);
    const shown = await command('backfill', 'show', String(first?.['id']), '--json');
    expect(shown.rows()).toEqual([first]);
    expect((await command('backfill', 'pause', String(first?.['id']))).stderr).toContain('is done');
    expect((await command('backfill', 'show', 'unknown')).code).toBe(4);
  });

  it('takes its conditions, its part and its limits from the command line', async () => {
    const own = ['--scorer', 'no-tool-errors', '--dry-run'];
    const spec = (rows: Record<string, unknown>[]) => rows.at(-1)?.['spec'];
    const { rows } = await backfill(...own, '--where', 'service=nobody', '--where', 'duration.max=1h');
    expect(rows()).toMatchObject([{ matched: 0, remaining: 0 }]);
    expect(spec(rows())).toMatchObject({ where: { service: ['nobody'], durationMs: { max: 3_600_000 } } });
    const limits = '--sample 0.5 --rate 600/m --max-cost 2 --concurrency 3 --judge-share 0.2 --rescore';
    const limited = await backfill(...own, ...limits.split(' '));
    expect(spec(limited.rows())).toMatchObject({
      rules: [{ name: 'scorers', sample: { rate: 0.5, always: [] } }],
      tracesPerSecond: 10,
      maxCostUsd: 2,
      concurrency: 3,
      judgeShare: 0.2,
      rescore: true,
    });
    const [counts] = limited.rows() as { remaining: number; skipped: { sampled_out?: number } }[];
    expect((counts?.remaining ?? 0) + (counts?.skipped.sampled_out ?? 0)).toBe(21);
    const wrong = await backfill(...own, '--where', 'servce=a');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--where servce: unknown key')]);
    expect((await backfill(...own, '--rate', 'fast')).code).toBe(2);
    expect((await command('backfill')).code).toBe(2);
  });

  it('is left to a serve with --detach, and ends with 69 where none runs', async () => {
    const { code, stderr } = await backfill('--scorer', 'tone', '--detach');
    expect([code, stderr]).toEqual([69, expect.stringContaining('start spanscore serve')]);
  });

  it('leaves traces without a decision of a rule, and a session that may go on, to live scoring, in both the same', async () => {
    await its.store.ruleVersions.record({
      rule: 'live',
      version: 'first',
      activeFromMs: Date.now() - 3_600_000,
      probability: 1,
      definition: { scorers: ['keyword-coverage'] },
    });
    for (const more of [['--dry-run'], []]) {
      const left = { matched: 21, sessions: 1, scored: 0, skipped: { arriving: 1, left_to_live: 21 } };
      expect(last(await backfill(...more))).toMatchObject(left);
    }
  });
});

it('explain prints scores with their reasons', async () => {
  const { stdout } = await command('explain', ids[0] ?? '');
  expect(stdout).toMatch(/backfill:\w+ \/ tone {2}scored\n {4}tone \d/);
});

it('explain asks a chat judge why a decision judge found fault', async () => {
  const traceId = ids[1] ?? '';
  const verdicts = [{ statement: 'It is cold.', verdict: 'unsupported', probability: 0.8 }];
  const row = {
    tenant: '',
    traceId,
    scorer: 'grounding',
    fingerprint: 'decided',
    judgeModel: 'openai/gpt-6-luna',
  };
  await its.store.scores.write([buildScore({ ...row, verdicts })]);
  await its.store.decisions.write([
    buildDecision({ ...row, rule: 'backfill:facts', status: 'scored', evidenceUntil: Date.now() }),
  ]);
  const why = (...more: string[]) => command('explain', traceId, '--why', '--judge', 'local/small', ...more);
  expect((await why()).stdout).toContain('why unsupported: It is cold.: No source says it.');
  const scores = (await why('--json')).rows().flatMap((line) => (line['scores'] ?? []) as object[]);
  expect(scores).toContainEqual(
    expect.objectContaining({
      why: expect.objectContaining({ verdicts: [expect.objectContaining({ reason: 'No source says it.' })] }),
    }),
  );
  expect((await command('explain', traceId, '--why')).stderr).toContain('why needs a judge');
  expect((await command('explain', traceId, '--judge', 'local/small')).code).toBe(2);
});

it('explain prints why a session is not scored, and then its decisions and scores', async () => {
  const explain = () => command('explain', '--session', 'sess-1', '--json');
  const line = { traceId: '', targetId: 'sess-1', rule: 'chats' };
  expect((await explain()).rows()).toMatchObject([{ ...line, status: 'not_covered', computed: true }]);
  const version = { version: 'first', activeFromMs: Date.now() - 3_600_000, probability: 1, definition: {} };
  await its.store.ruleVersions.record({ rule: 'chats', ...version });
  const [waiting] = (await explain()).rows();
  expect(waiting).toMatchObject({ ...line, status: 'waiting', reason: 'further turns may still come' });
  expect(Date.parse(String(waiting?.['nextAttemptAt']))).toBeGreaterThan(Date.now());

  const target = { traceId: '', target: 'session', targetId: 'sess-1', scorer: 'tone' } as const;
  const score = buildScore({ ...target, tenant: '', spanId: '', sessionId: 'sess-1', score: 0.25 });
  await its.store.scores.write([score]);
  const { fingerprint } = score;
  await its.store.decisions.write([
    buildDecision({
      ...target,
      tenant: '',
      rule: 'chats',
      status: 'scored',
      fingerprint,
      evidenceUntil: Date.now(),
    }),
  ]);
  expect((await explain()).rows()).toMatchObject([{ ...line, status: 'scored', scores: [{ score: 0.25 }] }]);
  const { stdout } = await command('scores', '--session', 'sess-1', '--scorer', 'tone', '--max', '0.25');
  expect(stdout).toMatch(/session sess-1 {2}tone 0\.25/);
  expect((await command('explain', '--session', 'nobody')).code).toBe(4);
  expect((await command('explain')).code).toBe(2);
});

it('score runs scorers on a session now, and stores scores only when asked', async () => {
  const score = (...more: string[]) => command('score', '--session', 'sess-1', '--json', ...more);
  const dry = await score('--scorer', 'no-tool-errors');
  expect(dry.rows()).toMatchObject([
    { status: 'scored', target: 'session', targetId: 'sess-1', traceId: '', scorer: 'no-tool-errors' },
  ]);
  expect(dry.code).toBe(0);
  const key = { tenant: '', sessionId: 'sess-1' };
  const names = async () => (await its.store.sessions.scores(key)).map(({ scorer }) => scorer);
  expect(await names()).toEqual(['tone']);
  expect((await score('--scorer', 'no-tool-errors', '--write')).code).toBe(0);
  expect(await names()).toEqual(['no-tool-errors', 'tone']);
  expect((await score()).rows()).toMatchObject([{ scorer: 'tone', status: 'scored' }]);
  expect((await command('score', '--session', 'nobody')).code).toBe(4);
  expect((await command('score')).code).toBe(2);
});

describe('two traces whose scoring failed', () => {
  beforeAll(async () => {
    const keys = ids.slice(0, 2).map((traceId) => ({ tenant: '', traceId }));
    const activities = await its.store.spans.activity(keys);
    const failed = [...activities.values()].map(({ traceId, lastArrivalMs }) =>
      buildDecision({
        traceId,
        rule: 'live',
        evidenceUntil: lastArrivalMs,
        status: 'failed',
        reason: 'timeout: x',
        evidenceHash: '',
      }),
    );
    await its.store.decisions.write(failed);
  });

  it('coverage counts decisions of the rules, and the traces and sessions that wait', async () => {
    const total = await command('coverage', '--since', '1h', '--json');
    expect(total.rows()).toMatchObject([{ eligible: 3, sampled: 3, scored: 1, failed: 2, waiting: 19 }]);
    expect((await command('coverage', '--by', 'scorer', '--json')).rows()).toMatchObject([
      { scorer: 'keyword-coverage', scored: 0, failed: 2, waiting: 19 },
      { scorer: 'tone', scored: 1, waiting: 0 },
    ]);
    const rules = (await command('coverage', '--by', 'rule', '--json')).rows();
    expect(rules[0]).toMatchObject({ rule: expect.stringMatching(/^backfill:/), scored: 21 });
    const { stdout, stderr } = await command('coverage', '--since', '1h');
    expect(stdout).toMatch(/^ELIGIBLE .* WAITING\n3 /);
    expect(stderr).toContain('targets whose last span arrived since 20');
    expect(stderr).not.toContain('nothing was decided');
    const later = await command('coverage', '--since', new Date().toISOString());
    expect(later.stderr).toContain('nothing was decided in this time');
    const future = await command('coverage', '--since', new Date(Date.now() + 3_600_000).toISOString());
    expect(future.stderr).toContain('since: the range is empty; write a time before now');
    expect((await command('coverage', '--by', 'agent')).code).toBe(2);
  });

  it('rescore repairs failed decisions, and runs a scorer again on what it has scored', async () => {
    const rescore = (...more: string[]) => command('rescore', '--json', ...more);
    const repaired = await rescore('--failed', '--since', '1h');
    expect(repaired.rows().at(-1)).toMatchObject({
      kind: 'rescore',
      status: 'done',
      matched: 2,
      scored: 2,
      remaining: 0,
    });
    expect(repaired.code).toBe(0);
    const again = await rescore('--scorer', 'keyword-coverage');
    expect(again.rows().at(-1)).toMatchObject({ status: 'done', scored: 2 });
    const filters = { scorer: ['keyword-coverage'] };
    const { items: scores } = await its.store.lists.scores(filters, { limit: 9 });
    expect(scores.map(({ revision, source }) => `${source} ${revision}`)).toEqual(['live 2', 'live 2']);
    expect((await rescore()).code).toBe(2);
    expect((await rescore('--scorer', 'no-tool-errors')).stderr).toContain(
      'no rule with the scorer no-tool-errors is',
    );
    const left = await rescore('--failed', '--detach');
    expect([left.code, left.stderr]).toEqual([69, expect.stringContaining('start spanscore serve')]);
  });
});

it('scores accepts names in the store and in the configuration, and refuses any other name', async () => {
  expect((await command('scores', '--scorer', 'tone', '--json')).rows()).toHaveLength(22);
  expect((await command('scores', '--scorer', 'grounding')).code).toBe(0);
  const { code, stderr } = await command('scores', '--scorer', 'tonne');
  expect(code).toBe(2);
  expect(stderr).toContain('there is no scorer tonne; did you mean tone?');
});

it('dlq list prints the number of further dead letters', async () => {
  await its.store.deadLetters.write([aLetter(), aLetter(), aLetter()]);
  const { stdout, stderr } = await command('dlq', 'list', '--limit', '1', '--json');
  expect(jsonLines(stdout)).toHaveLength(1);
  expect(stderr).toContain('2 more are set aside, older than these: --limit 3 prints all\n');
});

describe('a rule on sessions', () => {
  const idle = emptyFolder();
  beforeAll(() => {
    const rules = [{ name: 'chats', target: 'session', scorers: ['tone'] }];
    const readiness = { decisionWait: '1ms', session: { idle: '1s' } };
    writeFileSync(join(idle, 'spanscore.config.json'), JSON.stringify({ readiness, rules }));
  });
  const run = (...args: readonly string[]) =>
    runCommand([...args, ...storeFlags(its.options)], { cwd: idle });

  it('has a preview, with verdicts beside the scores of the rule in force', async () => {
    const shown = await run('preview', '--json');
    expect(shown.code).toBe(0);
    expect(jsonLines(shown.stdout)).toMatchObject([
      {
        rule: { name: 'chats', target: 'session' },
        matched: 1,
        selected: 1,
        left: {},
        traces: [
          {
            traceId: '',
            sessionId: 'sess-1',
            reading: { runs: [{ sessionId: 'sess-1' }] },
            verdicts: [
              {
                target: 'session',
                targetId: 'sess-1',
                scorer: 'tone',
                status: 'scored',
                stored: { source: 'live' },
              },
            ],
          },
        ],
      },
    ]);
    const text = await run('preview');
    expect(text.stdout).toContain('rule chats on session, ');
    expect(text.stdout).toContain('1 session · 1 would be scored');
    expect(text.stdout).toContain('1 session really judged');
    expect(text.stdout).toContain('sess-1  weather-agent, read as ');
  });

  it('takes the conditions of a backfill, in its dry run and in its job', async () => {
    const backfill = async (condition: string, ...more: string[]) => {
      const { code, stdout } = await run('backfill', '--from', '1h', '--json', '--where', condition, ...more);
      return [code, jsonLines(stdout).at(-1)];
    };
    const none = { matched: 0, sessions: 0, remaining: 0 };
    expect(await backfill('status=error', '--dry-run')).toMatchObject([0, none]);
    const one = { matched: 21, sessions: 1, spec: { where: { agent: ['weather-agent'] } } };
    expect(await backfill('agent=weather-agent', '--dry-run')).toMatchObject([0, { ...one, remaining: 1 }]);
    expect(await backfill('agent=weather-agent')).toMatchObject([0, { ...one, scored: 1 }]);
  });
});
