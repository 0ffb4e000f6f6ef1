import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoreConnection } from '../../../src/store/connection/connect-store.ts';
import { decodeTraces } from '../../../src/conventions/index.ts';
import { emptyFolder, jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { fillStore } from '../../support/store/fill-store.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';

const REDACTED = new URL('../../fixtures/spans/koog-default.traces.jsonl', import.meta.url);
const SPRING = new URL('../../fixtures/spans/spring-ai-2-agent', import.meta.url);
const APART = new URL('../../fixtures/spans/openinference-openai-chat.traces.jsonl', import.meta.url);
const SPRING_TRACE = 'b9b1001c4a333dfa7ee59adccaeb2d2d';
const ODD_TRACE = '0af7651916cd43dd8448eb211c80319c';
const SHAPED_TRACE = '5aa9651916cd43dd8448eb211c80319c';

/** A run of an emitter that no convention knows. */
const SHAPED = JSON.stringify(
  traceRequest([
    jsonSpan({
      traceId: SHAPED_TRACE,
      name: 'turn',
      attributes: Object.entries({
        'zed.step': 'agent',
        'zed.prompt': 'Where is order 7?',
        'zed.reply': 'It left Hamburg on Monday.',
      }).map(([key, text]) => attribute(key, text)),
    }),
  ]),
);

const folder = emptyFolder();
let connection: StoreConnection;

/** A run that can be scored, one that is redacted, a span of an unknown kind, a run of two traces, and one that is read by shape. */
beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), 'rules: [{ name: all, scorers: [no-tool-errors] }]\n');
  const odd = jsonSpan({ name: 'odd', attributes: [attribute('gen_ai.odd', 'x')] });
  const traces = [`${SPRING.pathname}.traces.jsonl`, REDACTED.pathname, APART.pathname].map((path) =>
    readFileSync(path, 'utf8'),
  );
  connection = await fillStore(folder, {
    traces: [...traces, JSON.stringify(traceRequest([odd])), SHAPED].join('\n'),
    logs: readFileSync(`${SPRING.pathname}.logs.jsonl`, 'utf8'),
  });
});
afterAll(() => connection.release());

describe('convention reports over stored traces', () => {
  it('conventions sums it up per service and scope, with the setting to turn on', async () => {
    const { code, stdout } = await runCommand(['conventions'], { cwd: folder });

    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^the newest \d+ traces since .*: 6 of agents or models, 1 of these without a run$/m,
    );
    expect(stdout).toMatch(/^koog-weather +koog-weather +1 +11 +1 +0 +/m);
    expect(stdout).toMatch(/^spring-ai-weather +org\.springframework\.boot +1 +\d+ +1 +1 +/m);
    expect(stdout).toMatch(/1 of 1 run cannot be scored: no_content_captured: .*setVerbose\(true\)/);
    expect(stdout).toMatch(/not understood: "odd" \(1 span\).*attributes gen_ai\.odd$/m);
    expect(stdout).toMatch(
      /org\.springframework\.boot: attributes that spanscore does not read, longest text first: .*spring\.ai\./,
    );
  });

  it('conventions says how many traces it looked at, and that there may be more', async () => {
    const { stdout } = await runCommand(['conventions', '--limit', '1', '--json'], { cwd: folder });

    expect(JSON.parse(stdout)).toMatchObject({ tracesListed: 1, limitReached: true, unreadable: 0 });
  });

  it('explain lists the spans of a trace that were not understood', async () => {
    const { code, stdout } = await runCommand(['explain', ODD_TRACE, '--json'], { cwd: folder });

    expect(code).toBe(0);
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({
        rule: '*',
        status: 'not_understood',
        computed: true,
        reason: expect.stringContaining('1 span "odd"') as string,
      }),
    );
  });

  it('explain says why a run cannot be scored, with the setting and the unread attributes', async () => {
    const [silent] = decodeTraces(readFileSync(REDACTED.pathname, 'utf8')).traces;
    const { stdout } = await runCommand(['explain', silent!.traceId, '--json'], { cwd: folder });
    const reasons = jsonLines(stdout).map((line) => String((line as { reason?: string }).reason));

    expect(reasons.filter((reason) => reason.includes('setVerbose(true)'))).toHaveLength(1);
    expect(
      reasons.filter((reason) => reason.includes('attributes that spanscore does not read')),
    ).toHaveLength(1);
  });

  it('a trace that is a piece of a run is shown and explained with the rest of that run', async () => {
    const [first, second] = decodeTraces(readFileSync(APART.pathname, 'utf8')).traces.map(
      ({ traceId }) => traceId,
    );

    const inspected = await runCommand(['inspect', second!, '--json'], { cwd: folder });
    expect(jsonLines(inspected.stdout)).toMatchObject([
      { traceId: first, spanCount: 2, runs: [{ scorable: true }] },
    ]);
    const scored = await runCommand(['score', second!, '--json'], { cwd: folder });
    expect(jsonLines(scored.stdout)).toMatchObject([
      { traceId: first, status: 'scored' },
      { traceId: second, status: 'not_applicable', reason: expect.stringContaining(first!) as string },
    ]);
    const explained = await runCommand(['explain', second!, '--json'], { cwd: folder });
    expect(jsonLines(explained.stdout)).not.toContainEqual(
      expect.objectContaining({ status: 'not_scorable' }),
    );
    const summed = await runCommand(['conventions'], { cwd: folder });
    expect(summed.stdout).toMatch(/instrumentation-openai +1 +2 +1 +1 +openinference/);
  });

  it('inspect reads texts that came as ordinary log records', async () => {
    const { stdout } = await runCommand(['inspect', SPRING_TRACE], { cwd: folder });

    expect(stdout).toContain('It is 18°C and rainy in Paris right now.');
    expect(stdout).toMatch(/^ {2}spring-ai-weather · .*: attributes that spanscore does not read/m);
  });

  it('suggest prints a table that reads the same facts, of a stored trace and of a file', async () => {
    writeFileSync(join(folder, 'zed.jsonl'), SHAPED);
    const suggest = ['conventions', 'suggest', SHAPED_TRACE, '--name', 'zed'];
    const stored = await runCommand(suggest, { cwd: folder });
    const ofFile = await runCommand([...suggest.toSpliced(2, 1, 'zed.jsonl'), '--json'], { cwd: folder });
    const table = {
      name: 'zed',
      match: { scope: 'test' },
      kind: { from: 'zed.step', values: { agent: 'agent' } },
      fields: { input: 'zed.prompt', output: 'zed.reply' },
    };
    expect(parse(stored.stdout)).toEqual({ conventions: [table] });
    expect(JSON.parse(ofFile.stdout)).toEqual({ conventions: [table] });

    writeFileSync(join(folder, 'with-zed.yaml'), stored.stdout);
    const before = await inspectShaped();
    const after = await inspectShaped('--config', 'with-zed.yaml');
    expect(before).toMatchObject({
      runs: [{ conventions: ['by-shape'], warnings: [{ code: 'read_by_shape' }] }],
    });
    expect(after).toMatchObject({ runs: [{ conventions: ['zed'], warnings: [] }] });
    expect(after.runs[0]?.output).toEqual(before.runs[0]?.output);
    const again = await runCommand([...suggest, '--config', 'with-zed.yaml'], { cwd: folder });
    expect({ code: again.code, stderr: again.stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('nothing to suggest') as string,
    });
  });

  it('inspect --debug prints each fact with its convention and its source', async () => {
    const { stdout } = await runCommand(['inspect', SHAPED_TRACE, '--debug'], { cwd: folder });
    expect(stdout).toMatch(/^ {2}\w{16} input = .*Where is order 7\?.* \(by-shape from zed\.prompt\)$/m);
    const { facts } = await inspectShaped('--debug');
    expect(facts).toContainEqual(
      expect.objectContaining({ field: 'output', convention: 'by-shape', source: 'zed.reply', used: true }),
    );
  });

  it('scoring.readByShape: false leaves a stored trace to no reader, and names its texts', async () => {
    const off = ['--set', 'scoring.readByShape=false'];
    const { runs, notUnderstood } = await inspectShaped(...off);
    expect(runs).toEqual([]);
    expect(notUnderstood).toMatchObject([{ attributes: ['zed.reply', 'zed.prompt'] }]);
    expect((await runCommand(['conventions', 'suggest', SHAPED_TRACE, ...off], { cwd: folder })).code).toBe(
      4,
    );
  });

  it('the decisions on a run that was read by shape say so', async () => {
    await runCommand(['score', SHAPED_TRACE, '--write'], { cwd: folder });
    const { stdout } = await runCommand(['explain', SHAPED_TRACE, '--json'], { cwd: folder });
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({ status: 'scored', readByShape: true }),
    );
  });
});

interface Inspected {
  readonly runs: readonly { readonly output: unknown }[];
  readonly notUnderstood: unknown;
  readonly facts?: unknown;
}

async function inspectShaped(...options: readonly string[]): Promise<Inspected> {
  const { stdout } = await runCommand(['inspect', SHAPED_TRACE, '--json', ...options], { cwd: folder });
  return jsonLines(stdout)[0] as Inspected;
}
