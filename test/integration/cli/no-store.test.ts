import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyFolder } from '../../support/processes/cli.ts';
import { replyDecisions, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { runCommand } from '../../support/processes/run-command.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const WEATHER = new URL('../../fixtures/spans/ai-sdk-v7-new.traces.jsonl', import.meta.url).pathname;

/** Commands that work on what is stored. */
const READERS: string[][] = [
  ['scores'],
  ['traces'],
  ['explain', TRACE],
  ['inspect', TRACE],
  ['score', TRACE],
  ['conventions'],
  ['backfill', '--from', '7d', '--dry-run'],
  ['backfill', '--from', '7d'],
  ['sql', 'SELECT 1'],
  ['dlq', 'list'],
  ['dlq', 'drop', '--all'],
  ['alerts', 'list'],
  ['alerts', 'mute', 'Worse', '--for', '1h'],
  ['migrate', '--status'],
];

describe('a command without a store', () => {
  it.each(READERS)('%s %s names the folder, makes nothing and ends with 4', async (...args) => {
    const cwd = emptyFolder();

    const { code, stdout, stderr } = await runCommand(
      args.filter((arg) => typeof arg === 'string'),
      { cwd },
    );

    expect(code).toBe(4);
    expect(stdout).toBe('');
    expect(stderr).toContain(`there is no store in ${join(cwd, '.spanscore')}`);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('does not change a folder without an engine', async () => {
    const cwd = emptyFolder();
    mkdirSync(join(cwd, '.spanscore'));

    expect((await runCommand(['scores'], { cwd })).code).toBe(4);
    expect(readdirSync(join(cwd, '.spanscore'))).toEqual([]);
  });

  it('doctor says that the store is created when serve first starts, and makes nothing', async () => {
    const cwd = emptyFolder();

    const { stdout } = await runCommand(['doctor'], { cwd });

    expect(stdout).toContain('is created when serve first starts');
    expect(readdirSync(cwd)).toEqual([]);
  });
});

/** Two rules on traces with a judge without a price, and one rule on sessions. */
const UNPRICED = {
  judges: { default: 'local/m', providers: { local: { baseURL: 'http://127.0.0.1:1/v1' } } },
  rules: [
    { name: 'live', scorers: ['tone', 'hallucination'] },
    { name: 'chats', target: 'session', scorers: ['tone'] },
  ],
};

describe('wrong usage', () => {
  const past = ['backfill', '--from', '7d'];
  it.each<[string[], string]>([
    [['backfill', '--from', '1h', '--to', '2h'], '--to: must be after --from'],
    [[...past, '--where', 'servce=shop'], '--where servce: unknown key; did you mean service?'],
    [[...past, '--where', 'not.agnt=shop'], '--where not.agnt: unknown key; did you mean agent?'],
    [[...past, '--where', 'tokens.min=5'], '--where: tokens are known only after a trace is read'],
    [
      [...past, '--where', 'not.readByShape=true'],
      '--where: readByShape is known only after a trace is read',
    ],
    [[...past, '--max-cost', '5'], '--max-cost: the judge local/m has no known price'],
    [['score', WEATHER, '--write'], '--write works on stored traces only'],
    [['rescore', '--scorer', 'completeness'], 'no rule with the scorer completeness is configured'],
  ])('%j names the option and ends with 2', async (argv, message) => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify(UNPRICED));

    const { code, stdout, stderr } = await runCommand(argv, { cwd });

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`error: ${message}`);
  });

  it.each([
    [past, 'no rules are configured: name scorers with --scorer'],
    [['score', WEATHER], 'no rules on traces are configured: name scorers with --scorer'],
    [['rescore', '--failed'], 'no rules are configured: only scorers of rules run again'],
  ])('%j without rules ends with 2', async (argv, message) => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, 'spanscore.config.json'), '{ "rules": [] }');

    expect(await runCommand(argv, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  });
});

describe('--data-dir that cannot be made', () => {
  const COMMANDS: string[][] = [['serve'], ['scores'], ['migrate']];

  it.each(COMMANDS)('ends %s with 78 where a part of the path is a file', async (command) => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, 'file'), '');

    const { code, stderr } = await runCommand([command ?? '', '--data-dir', 'file/data'], { cwd });

    expect(code).toBe(78);
    expect(stderr).toContain(`the data directory ${join(cwd, 'file', 'data')} cannot be used`);
  });

  it.runIf(process.platform === 'linux')(
    'ends at once where the system lets nobody make a folder',
    async () => {
      const { code, stderr } = await runCommand(['serve', '--data-dir', '/proc/nothing/data'], {
        cwd: emptyFolder(),
      });

      expect(code).toBe(78);
      expect(stderr).toContain('set store.dataDir (or --data-dir) to a writable directory');
    },
  );
});

describe('Ctrl-C', () => {
  it('makes score say that it was interrupted, with exit code 130', async () => {
    const judge = await startJudgeServer(() => ({ kind: 'hang' }));
    const cwd = emptyFolder();
    const config = { judges: { default: 'local/m', providers: { local: { baseURL: judge.baseUrl } } } };
    writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify(config));
    const stop = new AbortController();
    try {
      const ended = runCommand(['score', WEATHER, '--scorer', 'hallucination'], { cwd, signal: stop.signal });
      await expect.poll(() => judge.requests.length, { timeout: 60_000 }).toBe(1);
      stop.abort('SIGINT');

      expect(await ended).toEqual({
        code: 130,
        stdout: '',
        stderr: 'interrupted by SIGINT: the command has not finished; run it again\n',
      });
    } finally {
      await judge.close();
    }
  });
});

describe('score with a decision judge', () => {
  const judges = (baseURL: string) => ({
    default: 'gate/luna',
    providers: { gate: { baseURL } },
    options: { 'gate/luna': { decision: true } },
    prices: { 'gate/luna': { input: 0.1, output: 0 } },
  });

  it('prints its probabilities and the price of one request', async () => {
    const judge = await startJudgeServer((request) =>
      replyDecisions(request, () => ({
        supported: 0.9,
        contradicted: 0.05,
        unsupported: 0.03,
        no_claim: 0.02,
      })),
    );
    const cwd = emptyFolder();
    const config = { judges: judges(judge.baseUrl), rules: [{ name: 'all', scorers: ['grounding'] }] };
    writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify(config));

    const { code, stdout } = await runCommand(['score', WEATHER, '--json'], { cwd });
    await judge.close();

    expect(code).toBe(0);
    expect(judge.requests).toHaveLength(1);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly inputTokens: number; readonly costUsd: number });
    expect(rows).toMatchObject([
      {
        scorer: 'grounding-hallucination',
        score: 0.081633,
        confidence: 0.9,
        firstScore: 0.081633,
        outputTokens: 0,
        judgeCalls: 1,
        verdicts: [{ verdict: 'supported', probability: 0.9, probabilities: { no_claim: 0.02 } }],
      },
      { scorer: 'grounding-faithfulness', score: 0.918367, confidence: 0.9, judgeCalls: 0, costUsd: 0 },
    ]);
    expect(rows[0]?.costUsd).toBeCloseTo(((rows[0]?.inputTokens ?? 0) * 0.1) / 1e6, 10);
  });

  it('has the last word of the second judge of a cascade, and the score of the first', async () => {
    const verdicts = [{ n: 1, quotes: [], reason: 'nothing says so', verdict: 'unsupported' }];
    const judge = await startJudgeServer((request) =>
      request.path.endsWith('/decisions')
        ? replyDecisions(request, () => ({
            supported: 0.9,
            contradicted: 0.05,
            unsupported: 0.03,
            no_claim: 0.02,
          }))
        : replyJson({ verdicts }),
    );
    const cwd = emptyFolder();
    const { default: first, ...rest } = judges(judge.baseUrl);
    const cascade = { judges: [first, `${first.split('/')[0]}/large`], share: 1, floor: 1 };
    writeFileSync(
      join(cwd, 'spanscore.config.json'),
      JSON.stringify({ judges: rest, scorers: { both: { use: 'grounding', cascade } }, rules: [] }),
    );

    const { code, stdout, stderr } = await runCommand(['score', WEATHER, '--scorer', 'both', '--json'], {
      cwd,
    });
    await judge.close();

    expect({ code, stderr }).toMatchObject({ code: 0 });
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const second = { rung: 2, rungProbability: 1 };
    expect(rows).toMatchObject([
      { scorer: 'both/grounding-hallucination', score: 1, firstScore: 0.081633, judgeCalls: 2, ...second },
      { scorer: 'both/grounding-faithfulness', score: 0, firstScore: 0.918367, ...second },
    ]);
  });

  it('refuses a scorer that asks for words, with exit code 78', async () => {
    const cwd = emptyFolder();
    writeFileSync(
      join(cwd, 'spanscore.config.json'),
      JSON.stringify({ judges: judges('http://127.0.0.1:1/v1'), rules: [] }),
    );

    expect(await runCommand(['score', WEATHER, '--scorer', 'hallucination'], { cwd })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('hallucination needs a chat judge'),
    });
  });
});

describe('spanscore score --ask', () => {
  const configure = (cwd: string, baseURL: string) => {
    const providers = { local: { baseURL } };
    writeFileSync(
      join(cwd, 'spanscore.config.json'),
      JSON.stringify({ judges: { default: 'local/small', providers } }),
    );
  };

  it.each([
    [['--answer', 'score:useless,partly,solves it'], 'partly', { score: 0.5, label: 'partly', scoreMax: 1 }],
    [['--answer', 'choice:refund,weather'], 'weather', { score: 1, label: 'weather', higherIsBetter: null }],
    [
      ['--judge', 'local/large'],
      false,
      { score: 0, label: 'false', judgeModel: expect.stringContaining('large') },
    ],
  ])('prints the answer to a question with %j', async (options, answer, expected) => {
    const judge = await startJudgeServer(() => replyJson({ quote: '', reason: 'so it is', answer }));
    const cwd = emptyFolder();
    configure(cwd, judge.baseUrl);
    const args = ['score', WEATHER, '--ask', 'How is it?', ...options, '--json'];
    const { code, stdout } = await runCommand(args, { cwd });
    await judge.close();
    expect(code).toBe(0);
    const rows = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(rows[0]).toMatchObject({ scorer: 'ask', status: 'scored', judgeCalls: 1, ...expected });
    expect(rows[0]).toMatchObject({ verdicts: [{ statement: 'How is it?', reason: 'so it is' }] });
  });

  it.each([
    [['--answer', 'boolean'], '--answer belongs to a question: add --ask'],
    [['--ask', 'Is it?', '--answer', 'score:good'], 'answer.levels: needs at least two'],
    [['--ask', 'Is it?', '--answer', 'words'], 'must be boolean or score or choice'],
    [['--ask', 'Is it?', '--write'], '--ask is not stored'],
  ])('refuses %j', async (options, message) => {
    const cwd = emptyFolder();
    configure(cwd, 'http://127.0.0.1:1/v1');
    const { code, stderr } = await runCommand(['score', WEATHER, ...options], { cwd });
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
