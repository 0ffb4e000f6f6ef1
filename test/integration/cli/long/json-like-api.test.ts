import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildProgram } from '../../../../src/cli/program.ts';
import { loadConfig } from '../../../../src/configuration.ts';
import { startServe, type Serve } from '../../../../src/serve.ts';
import { openStore, type Store } from '../../../../src/store/store.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { storeTenantRows, type RouteValues } from '../../../support/api/tenant-rows.ts';
import { jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';

type Json = Record<string, unknown>;

const CONFIG = `
receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } }
api: { endpoint: '127.0.0.1:0' }
readiness: { decisionWait: 1ms }
rules: []
`;

const folder = mkdtempSync(join(tmpdir(), 'spanscore-json-'));
let serve: Serve;
let store: Store;
let ids: RouteValues;

beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), CONFIG);
  // Only a process with rules runs scorers again.
  const rule = 'rules: [{ name: all, scorers: [keyword-coverage] }]';
  writeFileSync(join(folder, 'with-a-rule.yaml'), CONFIG.replace('rules: []', rule));
  const { config } = await loadConfig({ cwd: folder, variables: {} });
  // Without the role scorer, nothing changes what the test has stored.
  serve = await startServe(config, { roles: ['store', 'api'], log: silentLog });
  const { clickhouse } = serve.addresses;
  if (clickhouse === null) {
    throw new Error('serve has no store');
  }
  store = await openStore({ ...clickhouse, retention: { spansDays: 30, scoresDays: 400 } });
  ids = await storeTenantRows(store, '');
  const label = { ...value('traceId', 'scorer'), score: 1, source: 'human', scoredBy: 'ann' };
  await send('POST', '/scores', label);
});
afterAll(async () => {
  await store.close();
  await serve.stop();
  rmSync(folder, { recursive: true, force: true });
});

function value(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, ids[name] ?? '']));
}

async function send(method: string, path: string, body?: object): Promise<Json> {
  const response = await fetch(`${serve.addresses.api}/api/v1${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  expect(response.ok, `${method} ${path}`).toBe(true);
  return (await response.json()) as Json;
}

const read = (path: string) => send('GET', path);

/** Runs a command with `--json`, and returns its lines. */
async function lines(...argv: readonly string[]): Promise<Json[]> {
  const { code, stdout, stderr } = await runCommand([...argv, '--json'], { cwd: folder });
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return jsonLines(stdout) as Json[];
}

async function document(...argv: readonly string[]): Promise<Json> {
  const { code, stdout } = await runCommand([...argv, '--json'], { cwd: folder });
  expect(code).toBe(0);
  return JSON.parse(stdout) as Json;
}

const without = (row: Json | undefined, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(row ?? {}).filter(([name]) => !names.includes(name)));

/** JSON of a command and of its route about the same thing, without the fields that change from one moment to the next. */
const SAME: Readonly<Record<string, () => Promise<readonly [command: unknown, route: unknown]>>> = {
  inspect: async () => {
    const { reading } = await read(`/traces/${ids['traceId']}`);
    const [line] = await lines('inspect', ids['traceId'] ?? '');
    return [without(line, 'unreadAttributes'), without(reading as Json, 'truncated')];
  },
  explain: async () => {
    const { decisions, scores } = await read(`/traces/${ids['traceId']}`);
    const explained = await lines('explain', ids['traceId'] ?? '');
    const own = explained.flatMap((line) => (line['scores'] ?? []) as Json[]);
    expect(own.length).toBeGreaterThan(0);
    expect(scores).toEqual(expect.arrayContaining(own));
    return [explained.map((line) => without(line, 'scores')), decisions];
  },
  score: async () => {
    const scorers = ['keyword-coverage'];
    const moving = ['scoredAt', 'durationMs', 'version', 'status', 'completeness'];
    const { scores } = await send('POST', '/score', { ...value('traceId'), scorers });
    const [line] = await lines('score', ids['traceId'] ?? '', '--scorer', ...scorers);
    expect(line).toHaveProperty('status', 'scored');
    return [[without(line, ...moving)], (scores as Json[]).map((row) => without(row, ...moving))];
  },
  rescore: async () => {
    const done = (await lines('rescore', '--failed', '--config', 'with-a-rule.yaml')).at(-1);
    expect(done).toMatchObject({ kind: 'rescore', status: 'done' });
    return [done, await read(`/jobs/${String(done?.['id'])}`)];
  },
  // No scorer runs, so the command does the work.
  'backfill resume': async () => {
    const { id } = await send('POST', '/backfills', { from: '4d', scorer: 'tone' });
    const done = (await lines('backfill', 'resume', String(id))).at(-1);
    expect(done).toMatchObject({ status: 'done' });
    return [done, await read(`/backfills/${String(id)}`)];
  },
  status: async () => {
    const moving = ['spansPerSecond', 'scoresPerSecond', 'store'];
    const own = ['serve', 'notReady'];
    const [report, reply] = [await document('status'), await read('/status')];
    expect(Object.keys(report['store'] as Json)).toEqual(Object.keys(reply['store'] as Json));
    return [without(report, ...moving, ...own), without(reply, ...moving)];
  },
  'config print': async () => [await document('config', 'print'), (await read('/status'))['config']],
};

/** Commands that print the reply of a route. */
const OF_ROUTES: readonly string[] = [
  'alerts ack',
  'alerts list',
  'alerts mute',
  'alerts unmute',
  'anchors',
  'backfill cancel',
  'backfill list',
  'backfill pause',
  'backfill show',
  'coverage',
  'issues list',
  'issues show',
  'issues resolve',
  'issues reopen',
  'issues ignore',
  'issues merge',
  'issues split',
  'labels agreement',
  'labels estimate',
  'preview',
  'scores',
  'traces',
];

/** Commands whose JSON no route shows, or whose shape is fixed by their own page. */
const OWN_SHAPE: readonly string[] = [
  'alerts backtest',
  'alerts check',
  'alerts explain',
  'alerts test',
  'backup',
  'check-config',
  'components',
  'conventions suggest',
  'demo',
  'dlq drop',
  'dlq list',
  'dlq replay',
  'doctor',
  'export',
  'init',
  'issues tests',
  'labels examples',
  'labels export',
  'labels import',
  'mcp',
  'migrate',
  'move',
  'open',
  'purge',
  'reload',
  'restore',
  'serve',
  'sql',
];

describe('the JSON of a command', () => {
  it.each(Object.entries(SAME))('%s is that of the route that shows the same', async (_, compare) => {
    const [command, route] = await compare();
    expect(command).toEqual(route);
    expect(JSON.stringify(command)).not.toMatch(/^(\[\]|\{\})$/u);
  });

  it('is compared for each command, or its shape is its own', async () => {
    const silent = () => undefined;
    const build = (argv: readonly string[]) =>
      buildProgram(argv, () => async () => undefined, { stdout: silent, stderr: silent });
    const program = await build((await build([])).commands.map((command) => command.name()));
    const names = program.commands.flatMap((command) =>
      command.commands.length === 0
        ? [command.name()]
        : command.commands.map((child) => `${command.name()} ${child.name()}`),
    );
    const known = [...OWN_SHAPE, ...OF_ROUTES, ...Object.keys(SAME).filter((name) => !name.includes('--'))];
    expect(known.toSorted()).toEqual(names.toSorted());
  });
});
