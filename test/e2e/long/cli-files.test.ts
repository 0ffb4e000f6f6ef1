import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MEASURES, nameMeasure } from '../../../src/domain/behaviour/measures.ts';
import { describe, expect, it } from 'vitest';
import { emptyFolder, jsonLines, runCli, startCli } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

const SPANS = new URL('../../fixtures/spans/', import.meta.url);
const WEATHER = new URL('ai-sdk-v7-new.traces.jsonl', SPANS).pathname;
const NO_CONTENT = new URL('agent-framework-py-nocontent.traces.jsonl', SPANS).pathname;
const TRACE = '11f9d845dab14324be6966ea320d72ad';

/** Runs a command line in this process. */
const command = (args: readonly string[], options: { cwd?: string; stdin?: string } = {}) =>
  runCommand(args, { cwd: emptyFolder(), ...options });

function folderWithOwnScorer(run: string): string {
  const folder = emptyFolder();
  writeFileSync(
    join(folder, 'spanscore.config.json'),
    JSON.stringify({
      scorers: { own: { module: './own-scorer.ts' } },
      rules: [{ name: 'mine', scorers: ['own'] }],
    }),
  );
  writeFileSync(join(folder, 'own-scorer.ts'), `export default { id: 'own', run: ${run} };`);
  return folder;
}

/** Returns one request for each span of a request. */
function splitRequest(line: string): string[] {
  const { resourceSpans } = JSON.parse(line) as {
    resourceSpans: { resource: object; scopeSpans: { scope: object; spans: object[] }[] }[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) =>
        JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [span] }] }] }),
      ),
    ),
  );
}

function readScores(stdout: string): [scorer: string, score: number][] {
  return (jsonLines(stdout) as { scorer: string; score: number }[]).map(({ scorer, score }) => [
    scorer,
    score,
  ]);
}

describe('inspect on files', () => {
  it('prints a reading a line, from a file and from stdin alike, and needs no store', async () => {
    const folder = emptyFolder();

    const fromFile = await runCli(['inspect', WEATHER, '--json'], { cwd: folder });
    const fromStdin = await runCli(['inspect', '-', '--json'], {
      cwd: folder,
      stdin: readFileSync(WEATHER, 'utf8'),
    });

    expect(fromFile.code).toBe(0);
    expect(fromStdin.stdout).toBe(fromFile.stdout);
    expect(jsonLines(fromFile.stdout)).toEqual([
      expect.objectContaining({
        traceId: TRACE,
        spanCount: 6,
        logCount: 0,
        notScorable: null,
        notUnderstood: [],
        runs: [expect.objectContaining({ agent: 'weather-agent', scorable: true, subRuns: [] })],
      }),
    ]);
    expect(existsSync(join(folder, '.spanscore'))).toBe(false);
  });

  it('prints each model call as a run on demand', async () => {
    const { code, stdout } = await command(['inspect', WEATHER, '--model-calls', '--json']);

    expect(code).toBe(0);
    const [{ modelCalls, modelCallsLeftOut }] = jsonLines(stdout) as [Record<string, unknown>];
    expect(modelCallsLeftOut).toBe(0);
    expect(modelCalls).toMatchObject([
      { target: { kind: 'model-call', traceId: TRACE }, agent: 'weather-agent', scorable: true },
      { target: { kind: 'model-call', traceId: TRACE }, agent: 'weather-agent', scorable: true },
    ]);
  });

  it('reads spans and logs of several files together', async () => {
    const base = new URL('agent-framework-py-agent', SPANS).pathname;

    const { stdout } = await command(['inspect', `${base}.logs.jsonl`, `${base}.traces.jsonl`, '--json']);
    const readings = jsonLines(stdout) as { spanCount: number; logCount: number }[];

    expect(readings.some((reading) => reading.spanCount > 0 && reading.logCount > 0)).toBe(true);
  });

  it('says for people why a trace cannot be scored', async () => {
    const { code, stdout } = await command(['inspect', NO_CONTENT]);

    expect(code).toBe(0);
    expect(stdout).toMatch(/cannot be scored: \w+: /);
  });

  it('reads the lines that it can, and names the line that it cannot read', async () => {
    const { code, stdout, stderr } = await command(['inspect', '-', '--json'], {
      stdin: `${readFileSync(WEATHER, 'utf8')}\nnot json\n`,
    });

    expect(code).toBe(0);
    expect(jsonLines(stdout)).toHaveLength(1);
    expect(stderr).toMatch(/skipped: line \d+ is not JSON/);
  });

  it.each(['', 'not json', '{}', '[1,2]', '{"resourceSpans":[]}'])(
    'fails on %j, which holds no spans',
    async (stdin) => {
      const { code, stdout, stderr } = await command(['inspect', '-'], { stdin });

      expect(code).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toContain('no spans found');
    },
  );

  it('prefers a file to a trace id of the same name', async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, TRACE), readFileSync(WEATHER));

    const { code, stdout } = await command(['inspect', TRACE, '--json'], { cwd: folder });

    expect(code).toBe(0);
    expect(jsonLines(stdout)).toHaveLength(1);
    expect(existsSync(join(folder, '.spanscore'))).toBe(false);
  });

  it('is quiet when its reader has seen enough', async () => {
    const many = Array.from({ length: 400 }, (_, index) =>
      readFileSync(WEATHER, 'utf8').replaceAll(TRACE, index.toString(16).padStart(32, 'a')),
    );
    const running = startCli(['inspect', '-', '--json'], { stdin: many.join('') });
    running.child.stdout?.once('data', () => running.child.stdout?.destroy());

    const { code, stderr } = await running.ended;

    expect(code).toBe(0);
    expect(stderr).toBe('');
  });
});

describe('score on files', () => {
  it('runs the rules without a store', async () => {
    const folder = emptyFolder();

    const { code, stdout } = await command(['score', WEATHER, '--json'], { cwd: folder });
    const rows = jsonLines(stdout) as { scorer: string; status: string; completeness: string }[];

    expect(code).toBe(0);
    // A run of files has no past, so it has no path.
    expect(rows.map((row) => row.scorer)).toEqual(
      MEASURES.filter((measure) => measure !== 'path').map(nameMeasure),
    );
    expect(new Set(rows.map((row) => `${row.status} ${row.completeness}`))).toEqual(
      new Set(['scored complete']),
    );
    expect(existsSync(join(folder, '.spanscore'))).toBe(false);
  });

  it('runs a scorer of the user’s own, from a TypeScript module that the configuration names', async () => {
    const folder = emptyFolder();
    writeFileSync(
      join(folder, 'spanscore.config.ts'),
      `const own: string = './own-scorer.ts';
       export default { scorers: { own: { module: own, higherIsBetter: true, range: [0, 10] } }, rules: [{ name: 'mine', scorers: ['own'] }] };`,
    );
    writeFileSync(
      join(folder, 'own-scorer.ts'),
      `export default { id: 'own', run: async (input: { output: unknown[] }) => ({ score: 7, reason: 'has ' + input.output.length }) };`,
    );

    const { code, stdout, stderr } = await runCli(['score', WEATHER, '--json'], { cwd: folder });

    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        scorer: 'own',
        score: 7,
        reason: 'has 1',
        higherIsBetter: true,
        scoreMin: 0,
        scoreMax: 10,
      }),
    ]);
  });

  it('runs the example of a scorer of one’s own, which finds spanscore where it is not installed', async () => {
    const folder = emptyFolder();
    copyFileSync(new URL('../../../examples/own-scorer.ts', import.meta.url), join(folder, 'own-scorer.ts'));
    writeFileSync(
      join(folder, 'spanscore.config.yaml'),
      'scorers:\n  answer-length: { module: ./own-scorer.ts }\n',
    );

    const scored = await command(['score', WEATHER, '--scorer', 'answer-length', '--json'], { cwd: folder });

    expect(scored.stderr).toBe('');
    expect(jsonLines(scored.stdout)).toEqual([
      expect.objectContaining({ scorer: 'answer-length', score: 1, label: 'short', scoreMax: 1 }),
    ]);
  });

  it('outlives a rejection that a scorer of the user’s own leaves behind, and tells it', async () => {
    const folder = folderWithOwnScorer(
      `async () => { void Promise.reject(new Error('left behind')); await new Promise((go) => setTimeout(go, 50)); return { score: 7 }; }`,
    );

    const { code, stdout, stderr } = await runCli(['score', WEATHER, '--json'], { cwd: folder });

    expect(stderr).toContain('left behind');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toEqual([expect.objectContaining({ scorer: 'own', score: 7 })]);
  });

  it('fails the run, with exit code 1, of a scorer that throws where nobody can catch it', async () => {
    const folder = folderWithOwnScorer(
      `async () => { setTimeout(() => { throw new Error('out of reach'); }, 5); await new Promise((go) => setTimeout(go, 60_000)); return { score: 7 }; }`,
    );

    const { code, stdout, stderr } = await runCli(['score', WEATHER, '--json'], { cwd: folder });

    expect(stderr).toContain('out of reach');
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        status: 'failed',
        reason: expect.stringMatching(/^scorer_failed: scorer own .* out of reach/),
      }),
    ]);
    expect(stderr).not.toContain('Node.js v');
    expect(code).toBe(1);
  });

  it('joins the spans of a trace over files that a pattern names, and holds the scores against bars', async () => {
    const folder = emptyFolder();
    readFileSync(WEATHER, 'utf8')
      .trim()
      .split('\n')
      .flatMap(splitRequest)
      .forEach((request, index) => writeFileSync(join(folder, `part-${index}.jsonl`), `${request}\n`));
    const args = ['score', 'part-*.jsonl', '--scorer', 'content-similarity,no-tool-errors', '--json'];

    const whole = await command([
      'score',
      WEATHER,
      '--scorer',
      'content-similarity,no-tool-errors',
      '--json',
    ]);
    const [within, below] = await Promise.all([
      command([...args, '--fail-under', 'no-tool-errors=1'], { cwd: folder }),
      command([...args, '--fail-under', 'content-similarity=1', '--fail-under', 'no-tool-errors=1'], {
        cwd: folder,
      }),
    ]);

    expect(readScores(within.stdout)).toEqual(readScores(whole.stdout));
    expect(readScores(below.stdout)).toEqual(readScores(whole.stdout));
    expect(within.code).toBe(0);
    expect(below.code).toBe(3);
    expect(below.stderr).toMatch(/^content-similarity is below its bar of 1: /m);
    expect(below.stderr).not.toContain('no-tool-errors is below');
  });

  it('scores files that are larger than its memory, whatever the order of their spans', async () => {
    const folder = emptyFolder();
    const requests = readFileSync(WEATHER, 'utf8').trim().split('\n').flatMap(splitRequest);
    const traces = 500;
    // Spans of a trace lie as far apart as can be: the first spans of all traces come first.
    for (const [index, request] of requests.entries()) {
      const lines = Array.from(
        { length: traces },
        (_, trace) =>
          `${request.replaceAll(TRACE, String(trace).padStart(32, 'a')).replace('"attributes":[', `"attributes":[{"key":"filler","value":{"stringValue":"${'x'.repeat(60_000)}"}},`)}\n`,
      );
      writeFileSync(join(folder, `part-${index}.jsonl`), lines.join(''));
    }

    const { code, stdout, stderr } = await runCli(['score', 'part-*.jsonl', '--scorer', 'tone', '--json'], {
      cwd: folder,
      node: ['--max-old-space-size=128'],
    });

    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toHaveLength(traces);
  });

  it('refuses to write scores of traces that are not stored', async () => {
    const { code, stderr } = await command(['score', WEATHER, '--write']);

    expect(code).toBe(2);
    expect(stderr).toContain('--write works on stored traces only');
  });
});

describe('components', () => {
  it('lists what can be configured', async () => {
    const { stdout } = await command(['components', '--json']);

    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        scorers: expect.arrayContaining([
          expect.objectContaining({ name: 'keyword-coverage', needsJudge: false }),
          expect.objectContaining({ name: 'hallucination', needsJudge: true }),
        ]),
        conventions: expect.arrayContaining([expect.objectContaining({ name: 'ai-sdk' })]),
      }),
    ]);
  });
});
