import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Scorer } from '../../../../../src/scorers/evals/scorer.ts';
import { scoreTraces } from '../../../../../src/scoring/score-traces.ts';
import { OwnScorerWorld } from '../../../../support/scoring/own-scorer-world.ts';
import { MemoryStore } from '../../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../../../support/scoring/scoring-world.ts';
import { until } from '../../../../support/until.ts';

let world: OwnScorerWorld;
beforeEach(() => {
  world = new OwnScorerWorld();
});
afterEach(() => world.close());

const run = { output: [{ text: 'It rains.' }] };
const scores = (scorer: Scorer, input: object = run) => scorer.run({ output: [], ...input });

/** What writes to the descriptor on which a scorer's process and its host exchange messages. */
const RAW = `
  const { writeSync } = await import('node:fs');
  const { serialize } = await import('node:v8');
  const frame = (body) => Buffer.concat([Buffer.from([0, 0, 0, body.length]), Buffer.from(body)]);
  const write = (bytes) => { try { writeSync(3, bytes); } catch (error) { if (error.code !== 'EAGAIN') throw error; } };`;

/** A run that does `bad` when its output says so, and scores 1 otherwise. */
const unless = (bad: string) =>
  `async (run) => { if (run.output === 'bad') { ${bad} } return { score: 1 }; }`;

describe('a run that ends badly', () => {
  it.each([
    [
      'loops',
      'for (;;);',
      { timeoutMs: 300 },
      'timeout',
      'no result within 300 ms (scorers.bad.limits.timeout)',
    ],
    ['never settles', 'await new Promise(() => undefined);', { timeoutMs: 300 }, 'timeout', 'within 300 ms'],
    [
      'fills buffers',
      'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1));',
      { memoryBytes: 160e6 },
      'out_of_memory',
      '153 MiB of memory (scorers.bad.limits.memory)',
    ],
    [
      'fills the heap',
      'const all = []; for (;;) all.push({ size: all.length, list: [all.length] });',
      { memoryBytes: 160e6 },
      'out_of_memory',
      'memory (scorers.bad.limits.memory)',
    ],
    ['exits', 'process.exit(0);', {}, 'scorer_failed', 'ended its process with code 0'],
    ...(
      [
        ['null as a message', 'write(frame(serialize(null)));'],
        [
          'a result of bytes',
          "write(frame(serialize({ type: 'ended', run: 1, result: Buffer.from('x') })));",
        ],
        ['text', "write('all is well\\n');"],
        ['a message of no bytes', "write(frame(''));"],
        ['a message that cannot be read', "write(frame('garbage'));"],
        ['the beginning of 2 GiB', 'write(Buffer.from([127, 255, 255, 255]));'],
        ['bytes without end', 'for (;;) write(Buffer.alloc(65_536));'],
      ] as const
    ).map(([what, bad]): [string, string, object, string, string] => [
      `writes ${what}`,
      `${RAW} ${bad} await new Promise(() => undefined);`,
      {},
      'scorer_failed',
      'wrote to file descriptor 3',
    ]),
    ['is killed', "process.kill(process.pid, 'SIGSEGV'); for (;;);", {}, 'scorer_failed', 'died of SIGSEGV'],
    [
      'crashes later',
      "setTimeout(() => { throw new Error('too late'); }); await new Promise(() => undefined);",
      {},
      'scorer_failed',
      'too late',
    ],
  ])(
    '%s: it fails and names scorer and limit, and the next run gets a fresh process',
    async (_, bad, limits, code, text) => {
      const { scorer } = await world.bind('bad', unless(bad), limits);

      const [failed, next] = await Promise.allSettled([
        scores(scorer, { output: 'bad' }),
        scores(scorer, { output: 'fine' }),
      ]);

      expect(failed).toMatchObject({ reason: { code, retryable: false } });
      expect(String((failed as PromiseRejectedResult).reason)).toMatch('scorer bad');
      expect(String((failed as PromiseRejectedResult).reason)).toContain(text);
      expect(next).toMatchObject({ value: { score: 1 } });
    },
  );

  it('gives no score that is no number, and none that is too large to be sent', async () => {
    const { scorer: none } = await world.bind('none', 'async () => ({ score: NaN })');
    const { scorer: huge } = await world.bind('huge', "async () => ({ score: 1, reason: 'x'.repeat(5e6) })");

    expect((await scores(none)).score).toBeNaN();
    await expect(scores(huge)).rejects.toThrow('its result has 5000');
  });

  it('does not fail the runs that wait beside it, however many', async () => {
    const { scorer } = await world.bind('bad', unless('process.exit(3);'));
    const outputs = Array.from({ length: 40 }, (_, index) => (index % 10 === 3 ? 'bad' : 'fine'));

    const results = await Promise.allSettled(outputs.map((output) => scores(scorer, { output })));

    expect(results.map(({ status }) => status === 'fulfilled')).toEqual(
      outputs.map((each) => each === 'fine'),
    );
  });
});

it('loses no run to memory that earlier runs have left behind', async () => {
  const leaks = 'async () => { (globalThis.all ??= []).push(Buffer.alloc(20e6, 1)); return { score: 1 }; }';
  const { scorer } = await world.bind('leaks', leaks, { memoryBytes: 160e6 });
  const results = await Promise.all(Array.from({ length: 16 }, () => scores(scorer)));
  expect(results.map(({ score }) => score)).toEqual(results.map(() => 1));
});

it('a scorer whose runs give no result in time pauses after five of them, is put off by a minute, and says so in log and metrics', async () => {
  const { scorer } = await world.bind('slow', unless('for (;;);'), { timeoutMs: 50 });
  for (let count = 0; count < 5; count += 1) {
    await expect(scores(scorer, { output: 'bad' })).rejects.toMatchObject({ code: 'timeout' });
  }

  await expect(scores(scorer)).rejects.toMatchObject({
    code: 'scorer_paused',
    retryable: true,
    retryAfterMs: 60_000,
  });
  expect(world.logged.join()).toMatch(/a scorer pauses.*scorer=slow/);
  expect(world.reading('paused', 'slow')).toBe(1);
});

describe('the process of a scorer', () => {
  it('has nothing but the named variables in its environment, and a low priority', async () => {
    const { scorer } = await world.bind(
      'curious',
      "async () => ({ score: (await import('node:os')).getPriority(), reason: JSON.stringify(process.env) })",
      { environment: { MODEL_KEY: 'k-1' } },
    );
    expect(await scores(scorer)).toEqual({ score: 10, reason: '{"MODEL_KEY":"k-1"}' });
  });

  it('prints into the log under its name, at a pace that the log can take', async () => {
    const { scorer } = await world.bind(
      'chatty',
      "async () => { for (let i = 0; i < 5000; i += 1) console.log('line', i); console.error('last'); return { score: 1 }; }",
    );
    await scores(scorer);
    await until(() => world.logged.some((line) => line.includes('more lines')));
    expect(world.logged[0]).toMatch(/INFO.*a scorer printed a line.*scorer=chatty.*line 0/);
    expect(world.logged.filter((line) => line.includes('chatty')).length).toBeLessThan(100);
  });

  it('finds spanscore when it is not installed, and reads all declarations of a scorer', async () => {
    const path = world.writeModule(
      'declared',
      `import { createScorer } from 'spanscore/evals';
       import { createKeywordCoverageScorer } from 'spanscore/scorers';
       const other: { id: string } = createKeywordCoverageScorer();
       export default createScorer({ id: 'declared', description: other.id, version: '7', range: [0, 2], options: { a: /x/ } }).generateScore(() => 2);`,
    );
    const { scorer } = await world.bindModule('declared', path);
    expect(scorer).toMatchObject({
      id: 'declared',
      description: 'keyword-coverage-scorer',
      version: '7',
      range: [0, 2],
      options: { a: '/x/' },
      judgeModel: '',
    });
    expect(await scores(scorer)).toMatchObject({ score: 2 });
  });

  it('is not used any more once its file has changed: another code would score under the same version', async () => {
    const path = world.writeRun('changing', unless('process.exit();'));
    const { scorer } = await world.bindModule('changing', path);
    appendFileSync(path, '\n// changed');
    await scores(scorer, { output: 'bad' }).catch(() => undefined);

    await expect(scores(scorer)).rejects.toMatchObject({ code: 'scorer_unavailable', retryable: true });
    await expect(scores(scorer)).rejects.toThrow(
      'has changed since the start: run spanscore reload to use it',
    );
  });

  it('ends with its host, also when that is killed while the scorer loops', async () => {
    const path = world.writeRun('loops', 'async () => { console.log(process.pid); for (;;); }');
    const host = spawn(
      process.execPath,
      ['--input-type=module', '-e', HOST, path, new URL('../../../../../src/', import.meta.url).href],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [first] = (await host.stdout.take(1).toArray()) as [Buffer];
    const pid = Number(/line=(\d+)/.exec(String(first))?.[1]);
    expect(isRunning(pid)).toBe(true);
    host.kill('SIGKILL');
    await until(() => !isRunning(pid));
  });

  it('takes the processes that it has started with it', async () => {
    const { scorer } = await world.bind(
      'parent',
      "async () => { console.log((await import('node:child_process')).spawn('sleep', ['300']).pid); for (;;); }",
      { timeoutMs: 1_000 },
    );
    await expect(scores(scorer)).rejects.toMatchObject({ code: 'timeout' });
    const pid = Number(/line=(\d+)/.exec(world.logged.join('\n'))?.[1]);
    expect(pid).toBeGreaterThan(0);
    await until(() => !isRunning(pid));
  });

  it('does not delay a stop', async () => {
    const { scorer } = await world.bind('stuck', "async () => { console.log('begun'); for (;;); }");
    const stuck = scores(scorer).catch((error: unknown) => error);
    await until(() => world.logged.some((line) => line.includes('begun')));
    await world.own.stop();
    expect(await stuck).toMatchObject({ code: 'cancelled' });
    expect(world.reading('processes', 'stuck')).toBe(0);
  });
});

it('a scorer without an id has the name of the configuration as its id', async () => {
  const path = world.writeModule('nameless', 'export default { run: async () => ({ score: 0.5 }) };');
  const { scorer } = await world.bindModule('half', path);
  expect(scorer.id).toBe('half');
  expect(await scores(scorer)).toMatchObject({ score: 0.5 });
});

describe('a module that cannot be used', () => {
  it.each<[string, string, string, number?]>([
    ['that throws', "throw new Error('no such thing');", 'no such thing'],
    ['that is no TypeScript', 'export default {{', 'Expected'],
    ['without a scorer', 'export default { id: 1 };', 'an object with run()'],
    ['whose id is no text', 'export default { id: 7, run: async () => ({ score: 1 }) };', 'must be a text'],
    ['that exits', 'process.exit(7);', 'code 7'],
    ['that hangs', 'for (;;);', 'did not load within 1 s', 1_000],
    [
      'that never settles',
      'await new Promise(() => setTimeout(() => undefined, 1e6));',
      'did not load within 1 s',
      1_000,
    ],
    [
      'that fills its memory',
      'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1));',
      'more than 153 MiB of memory to load',
    ],
    [
      'that asks a judge where none is set',
      `import { createScorer } from 'spanscore/evals';
       export default createScorer({ id: 'a', judge: { instructions: 'Judge.' } }).generateScore({ description: 'd', createPrompt: () => 'p' });`,
      "none is set: write the entry's judge, or judges.default",
    ],
  ])('%s is a configuration error that names it', async (_, source, text, loadWithinMs = 60_000) => {
    const path = world.writeModule('broken', source);
    const starting = world.bindModule('broken', path, { loadWithinMs, memoryBytes: 160e6 });
    await expect(starting).rejects.toMatchObject({ code: 'config_invalid' });
    await expect(starting).rejects.toThrow(`scorers.broken.module: ${path} cannot be used: `);
    await expect(starting).rejects.toThrow(text);
  });
});

describe('a trace with a scorer that hangs', () => {
  it('has the decisions of its other scorers meanwhile', async () => {
    const slow = await world.bind('slow', 'async () => { for (;;); }', { timeoutMs: 4_000 });
    const quick = await world.bind('quick', 'async () => ({ score: 1 })');
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, buildRule([], { scorers: [slow, quick] }));
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += 60_000;
    const statuses = () => Object.fromEntries(store.decisions().map((row) => [row.scorer, row.status]));

    const scoring = scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);

    await until(() => store.decisions().length > 0);
    expect(statuses()).toEqual({ slow: 'deferred', quick: 'scored' });
    await scoring;
    expect(statuses()).toEqual({ slow: 'failed', quick: 'scored' });
  });
});

/** A host as a program of its own. */
const HOST = `
  const [path, root] = process.argv.slice(1);
  const { OwnScorers } = await import(root + 'scorers/own/pool.ts');
  const { createLog } = await import(root + 'telemetry/log.ts');
  const log = createLog('info', { destination: process.stdout });
  const own = await new OwnScorers(log).start({
    name: 'loops', path, environment: {}, timeoutMs: 600000, loadWithinMs: 60000, memoryBytes: 256e6,
  });
  await own.scorer.run({ output: [] });
`;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A process that has ended and that nobody has asked about yet is no running one.
  return process.platform !== 'linux'
    ? !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)]).includes('Z')
    : !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}
