import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkCaseFolder, writeCases } from '../../../src/cli/issues/write-cases.ts';
import type { WholeCase } from '../../../src/domain/issue-case.ts';
import { replayCase, type ReplayedCase } from '../../../src/vitest.ts';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { buildPlanted, GOOD, PLANTED } from '../../support/builders/planted-failures.ts';
import { type JudgeServer, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

/** Judge that contradicts every sentence with 25 degrees. */
async function startJudge(): Promise<JudgeServer> {
  return startJudgeServer(({ prompt }) => {
    const { json = '{}' } = readFencedPrompt(prompt) ?? {};
    const { sentences } = JSON.parse(json) as { sentences: Record<string, string> };
    const source = Number(/"(\d+)":\s*"[^"]*tempC/u.exec(json)?.[1] ?? 1);
    return replyJson({
      verdicts: Object.entries(sentences).map(([n, sentence]) => ({
        n: Number(n),
        verdict: sentence.includes('25') ? 'contradicted' : 'supported',
        quotes: [{ source, quote: '"tempC":18', absence: false }],
        reason: sentence.includes('25') ? 'it is 18' : '',
      })),
    });
  });
}

const folder = emptyFolder();
const out = join(folder, 'export');
const cases = new Map<string, WholeCase>();
let judge: JudgeServer;

beforeAll(async () => {
  judge = await startJudge();
  writeFileSync(
    join(folder, 'spanscore.config.json'),
    JSON.stringify({
      judges: { default: 'local/m', providers: { local: { baseURL: judge.baseUrl } }, reuse: false },
      rules: [],
    }),
  );
  for (const [name, build] of Object.entries(PLANTED)) {
    cases.set(name, await buildPlanted(build().spans));
  }
  mkdirSync(out);
  await writeCases(out, 'planted failures', [...cases.values()]);
});
afterAll(() => judge.close());

const score = (file: string, ...more: string[]) =>
  runCommand(['score', file, '--expect', join(out, 'otlp/expect.json'), ...more], { cwd: folder });

describe('a planted failure', () => {
  it.each([
    ['a failed tool', 'tool-error', 'behaviour-tool-errors', 1],
    ['equal calls', 'loop', 'behaviour-repeats', 1],
    ['a cycle of tools', 'loop', 'behaviour-tool-calls', 0.8],
    ['a refusal', 'answer', 'behaviour-answered', 1],
    ['a cut answer', 'answer', 'behaviour-answered', 1],
    ['a failed run', 'error', 'behaviour-answered', 1],
    ['a contradicted claim', 'claim', 'grounding-faithfulness', 1],
  ])('%s of kind %s expects %s from %d on', (name, kind, scorer, min) => {
    const { tags, metadata } = cases.get(name)!.shown;
    expect(tags).toEqual([`issue:${metadata.issue}`, kind]);
    expect(metadata).toMatchObject({ expect: { scorer, min }, flaky: false });
    expect(metadata.score).toBeLessThan(min);
  });

  it.each(Object.keys(PLANTED))('%s fails by its recorded spans, 10 of 10 times', async (name) => {
    const { id, metadata } = cases.get(name)!.shown;
    for (let time = 0; time < 10; time += 1) {
      const { code, stdout, stderr } = await score(join(out, `otlp/${id}.jsonl`), '--json');
      expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        case: id,
        passed: false,
        traceId: metadata.traceId,
        scorer: metadata.expect?.scorer,
      });
    }
  });

  it.each(Object.keys(PLANTED))(
    '%s fails with the recorded answer and passes with a good one, 10 of 10 times',
    async (name) => {
      const { shown, run: recorded } = cases.get(name)!;
      const given: ReplayedCase = {
        ...recorded,
        id: shown.id,
        output: shown.output,
        expect: shown.metadata.expect!,
      };
      for (let time = 0; time < 10; time += 1) {
        await expect(replayCase(given, () => shown.output, folder)).rejects.toThrow(
          `case ${shown.id}: ${given.expect.scorer} is `,
        );
        await replayCase(given, () => GOOD, folder);
      }
    },
  );
});

describe('an export', () => {
  it('holds no secret that redaction knows, in any file, and no word that the configuration hides', async () => {
    const fixtures = JSON.parse(
      readFileSync(new URL('../../fixtures/redaction/secrets.json', import.meta.url), 'utf8'),
    ) as { text: string; judge: string }[];
    // Some texts show what is no secret.
    const kept = fixtures.map(({ judge: shown }) => shown).join('\n');
    const secrets = fixtures.flatMap(listRemoved).filter((secret) => !kept.includes(secret));
    expect(secrets.length).toBeGreaterThan(25);
    const told = fixtures.map(({ text }) => text).join('\n\n');
    const spans = new AgentTraceBuilder()
      .asking(`Keep these: ${told}`)
      .with({
        name: 'refund',
        args: { keys: fixtures.map(({ text }) => text), customer: 'Ada Lovelace' },
        error: `refused: ${told}`,
      })
      .answering(`Your keys are ${told}`)
      .withAttributes({ 'app.note': told })
      .spans();
    const redaction = { fields: ['customer'], patterns: ['email'], enabled: true };
    const whole = await buildPlanted(spans, redaction);
    const files = join(emptyFolder(), 'new');
    await writeCases(files, 'keys', [whole, await buildPlanted(spans, { enabled: false })]);
    const texts = readAll(files);
    expect(secrets.filter((secret) => texts.some(([, text]) => text.includes(secret)))).toEqual([]);
    expect(JSON.stringify(whole)).not.toContain('Ada Lovelace');
    // The rest of the run is there.
    expect(JSON.stringify(whole.requests)).toContain('gpt-4o-mini-2024-07-18');
    expect(JSON.stringify(whole.shown)).toContain('Keep these: ');
  });

  it('has a Mastra item with the recorded results for each case', () => {
    const items = JSON.parse(readFileSync(join(out, 'mastra.json'), 'utf8')) as {
      id: string;
      toolMocks: unknown[];
    }[];
    const { shown } = cases.get('a failed tool')!;
    expect(items.map(({ id }) => id)).toEqual([...cases.values()].map((each) => each.shown.id));
    expect(items.find(({ id }) => id === shown.id)).toMatchObject({
      input: 'What is the weather in Paris?',
      toolMocks: [{ toolName: 'refund', args: { order: 7 }, output: { error: 'HTTP 504: no reply' } }],
      metadata: shown.metadata,
    });
  });

  it('replaces an earlier one, and leaves other files and the connected agent alone', async () => {
    const target = join(emptyFolder(), 'cases');
    const [first, second] = [...cases.values()];
    await checkCaseFolder(target);
    await writeCases(target, 'one', [first!, second!]);
    writeFileSync(join(target, 'agent.mjs'), 'export default () => "mine";');
    writeFileSync(join(target, 'notes.md'), 'mine');
    await checkCaseFolder(target);
    await writeCases(target, 'two', [second!]);
    const files = new Map(readAll(target));
    expect(new Set(files.keys())).toEqual(
      new Set([
        'agent.mjs',
        'cases.jsonl',
        'issue.test.mjs',
        'mastra.json',
        'notes.md',
        `otlp/${second!.shown.id}.jsonl`,
        'otlp/expect.json',
      ]),
    );
    expect(files.get('agent.mjs')).toContain('mine');
    expect(JSON.parse(files.get('cases.jsonl') ?? '')).toEqual(second!.shown);
  });

  it('is refused in a folder with other files', async () => {
    const target = emptyFolder();
    writeFileSync(join(target, 'cases.jsonl'), '{"mine":1}');
    await expect(checkCaseFolder(target)).rejects.toThrow('holds other files: name an empty folder');
  });

  it('is a Vitest file that fails until an agent answers better', async () => {
    symlinkSync(new URL('../../../node_modules', import.meta.url), join(folder, 'node_modules'));
    const entry = new URL('../../../src/vitest.ts', import.meta.url).pathname;
    const config = {
      resolve: { alias: { 'spanscore/vitest': entry } },
      test: { include: ['export/*.test.mjs'] },
    };
    writeFileSync(join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
    expect(await runVitest()).toEqual({ passed: 0, failed: 7, reasons: ['connect your agent'] });
    const bad = Object.fromEntries([...cases.values()].map(({ shown }) => [shown.id, shown.output]));
    writeFileSync(
      join(out, 'agent.mjs'),
      `const bad = ${JSON.stringify(bad)}; export default ({ id }) => bad[id];`,
    );
    expect(await runVitest()).toMatchObject({ passed: 0, failed: 7 });
    writeFileSync(join(out, 'agent.mjs'), `export default async () => ${JSON.stringify(GOOD)};`);
    expect(await runVitest()).toEqual({ passed: 7, failed: 0, reasons: [] });
  });
});

describe('an agent under test', () => {
  const replay = (name: string, agent: Parameters<typeof replayCase>[1]) => {
    const { shown, run: recorded } = cases.get(name)!;
    return replayCase(
      { ...recorded, id: shown.id, output: shown.output, expect: shown.metadata.expect! },
      agent,
      folder,
    );
  };

  it('gets recorded results, and what it calls counts', async () => {
    await expect(
      replay('equal calls', async ({ callTool }) => {
        await callTool('search', { q: 'sky' });
        return JSON.stringify(await callTool('search', { q: 'sky' }));
      }),
    ).rejects.toThrow('behaviour-repeats is 0.5 (search ×2)');
    await replay(
      'equal calls',
      async ({ callTool }) => `Found ${JSON.stringify(await callTool('search', { q: 'sea' }))}`,
    );
    await expect(replay('a failed tool', ({ callTool }) => callTool('refund', { order: 7 }))).rejects.toThrow(
      'HTTP 504: no reply',
    );
    await expect(
      replay('a failed tool', async ({ callTool }) => callTool('refund', { order: 7 }).catch(() => GOOD)),
    ).rejects.toThrow('behaviour-tool-errors is 0.5 (refund)');
    await expect(replay('a failed tool', ({ callTool }) => callTool('search'))).rejects.toThrow(
      'the tool search has no recorded call',
    );
  });

  it('may give back the output of a Mastra agent', async () => {
    const output = [
      { role: 'assistant', content: { format: 2, parts: [{ type: 'text', text: GOOD }], content: GOOD } },
    ];
    await replay('a contradicted claim', () => ({ text: GOOD, scoringData: { input: {}, output } }));
    await replay('a refusal', () => output);
    await expect(replay('a refusal', () => ({ text: 7 }))).rejects.toThrow(
      'gave neither a text nor messages',
    );
  });
});

/** Lists the secrets that redaction has taken out of a text. */
function listRemoved({ text, judge: shown }: { text: string; judge: string }): string[] {
  const escaped = shown
    .split(/\[[A-Z_]+_\d+\]/u)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`));
  const labels = [...shown.matchAll(/\[([A-Z_]+)_\d+\]/gu)].map(([, label]) => label);
  const removed = [...(new RegExp(`^${escaped.join('(.+?)')}$`, 'su').exec(text) ?? [])].slice(1);
  return removed.filter((_, index) =>
    ['API_KEY', 'JWT', 'PRIVATE_KEY', 'SECRET'].includes(labels[index] ?? ''),
  );
}

function readAll(target: string): [string, string][] {
  return readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(target.length + 1), readFileSync(path, 'utf8')];
    });
}

async function runVitest(): Promise<{ passed: number; failed: number; reasons: string[] }> {
  const program = new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url).pathname;
  const report = join(folder, 'report.json');
  const args = ['run', '--root', folder, '--reporter=json', `--outputFile=${report}`];
  await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder }).catch(() => undefined);
  const {
    numPassedTests: passed,
    numFailedTests: failed,
    testResults,
  } = JSON.parse(readFileSync(report, 'utf8'));
  const messages = (testResults as { assertionResults: { failureMessages: string[] }[] }[]).flatMap(
    ({ assertionResults }) =>
      assertionResults.flatMap(({ failureMessages }) =>
        failureMessages.map((text) => /^(?:Error|CaseFailedError): (.*)$/mu.exec(text)?.[1] ?? text),
      ),
  );
  return { passed, failed, reasons: [...new Set(messages)] };
}
