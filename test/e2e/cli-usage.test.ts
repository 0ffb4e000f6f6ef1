import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  OLD_NODE,
  OLD_NODE_REFUSAL,
  emptyFolder,
  jsonLines,
  runCli,
  startCli,
} from '../support/processes/cli.ts';
import { runCommand } from '../support/processes/run-command.ts';

// What a process shows is shown by a process: help, exit codes, signals, variables. The other commands run in this one, which is quicker.

/** Runs a command line in this process. */
const command = (args: readonly string[], cwd = emptyFolder()) => runCommand(args, { cwd });

describe('help', () => {
  it('leads with examples and names every exit code', async () => {
    const { code, stdout } = await runCli(['--help']);

    expect(code).toBe(0);
    expect(stdout.startsWith('Examples:')).toBe(true);
    expect(stdout).toMatch(/0 done · 1 failed · 2 wrong usage · 3 finished.*· 4 not found/);
    expect(stdout).toMatch(/69 .* · 78 wrong configuration · 130 interrupted/);
  });

  it.each([
    ['init'],
    ['inspect'],
    ['scores'],
    ['traces'],
    ['migrate'],
    ['check-config'],
    ['config', 'print'],
    ['doctor'],
  ])('of %s leads with examples and lists the options that go everywhere', async (...name) => {
    const { code, stdout } = await command([...name, '--help']);

    expect(code).toBe(0);
    expect(stdout.startsWith('Examples:')).toBe(true);
    expect(stdout).toContain('--json');
    expect(stdout).toContain('--config <file>');
  });

  it('says in one sentence that a Node.js is too old', async () => {
    const refused = await runCli(['--version'], { node: OLD_NODE });

    expect(refused).toEqual({ code: 1, stdout: '', stderr: OLD_NODE_REFUSAL });
  });

  it('takes --version of an issue for the version that mends it', async () => {
    const { code, stdout } = await command(['issues', 'resolve', 'a1', '--version', '3.3'], emptyFolder());
    expect([code, stdout]).toEqual([4, '']);
  });

  it('prints the version', async () => {
    const { code, stdout } = await runCli(['--version']);

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('exit codes', () => {
  it('0: done', async () => {
    expect((await runCli(['check-config'])).code).toBe(0);
  });

  it('1: failed', async () => {
    const folder = emptyFolder();
    await command(['init'], folder);

    const again = await runCli(['init'], { cwd: folder });

    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/spanscore\.config\.yaml exists already and was not changed/);
  });

  it.each([
    [['chek-config'], /unknown command 'chek-config'[\s\S]*check-config/],
    [['check-config', '--jsn'], /unknown option '--jsn'[\s\S]*--json/],
    [['scores', '--since', 'yesterday'], /Write a time before now/],
    [['scores', '--limit', '0'], /whole number from 1/],
    [['inspect'], /missing required argument/],
    [['explain', 'nonsense'], /32 hexadecimal digits/],
    [['--set', 'novalue', 'check-config'], /Write key=value/],
    [['move', '--to', 'foo'], /--to foo: write the HTTP address of a ClickHouse server/],
    [['preview', '--rule', 'defalt'], /there is no rule defalt; did you mean default\?/],
    [['backfill', '--from', '7d', '--rule', 'defalt'], /there is no rule defalt; did you mean default\?/],
    [
      ['backfill', '--from', '7d', '--rule', 'default', '--scorer', 'tone'],
      /--rule: cannot be used with --scorer/,
    ],
    [['preview', '--sample', '-1'], /'--sample <number>' .*at least 0/],
    [['rescore', '--scorer', 'a', '--scorer', 'b'], /'--scorer <name>' takes one value and was given twice/],
    [['--data-dir', 'a', 'status', '--data-dir', 'b'], /'--data-dir <folder>' takes one value/],
    [['dlq', 'drop'], /name the ids of dead letters/],
    [[], /Usage: spanscore/],
  ])('2: wrong usage: %j', async (args, message) => {
    const { code, stdout, stderr } = await command(args);

    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
  });

  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['chek-config'], "unknown command 'chek-config' (Did you mean check-config?)"],
    [['scores', '--limit', '0'], 'whole number from 1'],
    [['dlq', 'replay'], 'name the ids of dead letters'],
    [['dlq'], 'name a command; to list them: --help'],
  ])('2: wrong usage with --json, as one line of JSON: %j', async (args, message) => {
    const { code, stdout, stderr } = await command([...args, '--json']);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(jsonLines(stderr)).toEqual([
      { error: { code: 'input_invalid', message: expect.stringContaining(message) } },
    ]);
  });

  it('4: not found', async () => {
    const { code, stderr } = await runCli(['inspect', 'nowhere.jsonl']);

    expect(code).toBe(4);
    expect(stderr).toContain('nowhere.jsonl cannot be read');
  });

  it('69: a needed service is not reachable', async () => {
    const { code, stderr } = await runCli(['scores', '--store-url', 'http://127.0.0.1:9']);

    expect(code).toBe(69);
    expect(stderr).toContain('127.0.0.1:9');
  });

  it('78: wrong configuration', async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'spanscore.config.yaml'), 'receivres: {}\n');

    const { code, stderr } = await runCli(['check-config'], { cwd: folder });

    expect(code).toBe(78);
    expect(stderr).toBe(
      'error: spanscore.config.yaml:1:1: receivres: unknown key; did you mean receivers?\n',
    );
  });

  it('78: options that a scorer does not take', async () => {
    const folder = emptyFolder();
    const lines = [
      'scorers: { strict: { use: hallucination, judge: openai/gpt-5, options: { scal: 2 } } }',
      'rules: [{ name: all, scorers: [strict] }]',
    ];
    writeFileSync(join(folder, 'spanscore.config.yaml'), lines.join('\n'));

    const { code, stderr } = await command(['check-config'], folder);

    expect(code).toBe(78);
    expect(stderr).toMatch(
      /^error: spanscore\.config\.yaml:1:63: scorers\.strict\.options: .*options\.scal is unknown; did you mean scale\?/,
    );
  });

  it('130: interrupted', async () => {
    const { child, output, ended } = startCli(['inspect', '-', '--verbose']);
    await expect.poll(() => child.pid).toBeDefined();
    child.stdin?.write('{');
    await expect.poll(() => output.stderr, { timeout: 60_000 }).toContain('reading');
    child.kill('SIGINT');

    expect((await ended).code).toBe(130);
  });
});

describe('--json', () => {
  it.each([[['--json', 'check-config']], [['check-config', '--json']]])(
    'may stand before and after the command: %j',
    async (args) => {
      const { code, stdout } = await command(args);

      expect(code).toBe(0);
      expect(jsonLines(stdout)).toEqual([expect.objectContaining({ ok: true, file: null })]);
    },
  );

  it('makes errors one line of JSON on stderr, with nothing on stdout', async () => {
    const { code, stdout, stderr } = await command(['inspect', 'nowhere.jsonl', '--json']);

    expect(code).toBe(4);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'not_found', message: expect.stringContaining('nowhere.jsonl') },
    });
  });
});

describe('--config', () => {
  it.each([
    [['--config', 'other.yaml', 'config', 'print', '--json']],
    [['config', 'print', '--json', '--config', 'other.yaml']],
  ])('may stand before and after the command: %j', async (args) => {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'other.yaml'), 'store: { database: other }\n');

    const { stdout } = await command(args, folder);

    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({ store: expect.objectContaining({ database: 'other' }) }),
    ]);
  });
});

describe('config print', () => {
  it('shows where each value came from, and no secret', async () => {
    const folder = emptyFolder();
    writeFileSync(
      join(folder, 'spanscore.config.yaml'),
      'store: { password: ${env:STORE_PASSWORD}, url: "http://u:hidden@127.0.0.1:1" }\n',
    );

    const { stdout } = await runCli(['config', 'print', '--resolved', '--json', '--set', 'log.level=warn'], {
      cwd: folder,
      variables: { STORE_PASSWORD: 'hunter2', SPANSCORE_STORE_DATABASE: 'from_env' },
    });
    const [printed] = jsonLines(stdout) as { values: { path: string }[] }[];
    const findValue = (path: string) => printed?.values.find((entry) => entry.path === path);

    expect(stdout).not.toMatch(/hunter2|hidden/);
    expect(findValue('store.password')).toEqual({
      path: 'store.password',
      value: '[redacted]',
      origin: 'file',
      where: 'spanscore.config.yaml:1 (STORE_PASSWORD)',
    });
    expect(findValue('store.database')).toMatchObject({ value: 'from_env', origin: 'environment' });
    expect(findValue('log.level')).toMatchObject({ value: 'warn', origin: 'flag', where: '--set log.level' });
    expect(findValue('api.endpoint')).toMatchObject({ value: '127.0.0.1:4320', origin: 'default' });
  });

  it('prints the defaults whatever the file says', async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, 'spanscore.config.yaml'), 'store: { database: other }\n');

    const { stdout } = await command(['config', 'print', '--defaults', '--json'], folder);

    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        store: expect.objectContaining({ database: 'spanscore' }),
        rules: [expect.objectContaining({ name: 'default', scorers: ['behaviour'] })],
        monitors: [{ groups: [expect.objectContaining({ name: 'behaviour', falseAlarmBudget: 1 })] }],
      }),
    ]);
  });
});

describe('init', () => {
  it('writes a file that can be used, and names the two variables for an agent', async () => {
    const folder = emptyFolder();

    const { code, stdout } = await command(['init', '--json'], folder);
    const checked = await command(['check-config', '--json'], folder);

    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual([
      {
        file: join(folder, 'spanscore.config.yaml'),
        variables: {
          OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
          OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        },
      },
    ]);
    expect(checked.code).toBe(0);
  });

  it('writes the file of --config, and overwrites nothing', async () => {
    const folder = emptyFolder();
    const first = await command(['init', '--config', 'mine.yaml'], folder);
    const again = await command(['init', '--config', 'mine.yaml'], folder);
    const other = await command(['init', '--config', 'mine.json'], folder);

    expect(first.stdout).toContain('Then start: npx spanscore serve --config mine.yaml');
    expect(readdirSync(folder)).toEqual(['mine.yaml']);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') });
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('ends in .yaml') });
  });
});
