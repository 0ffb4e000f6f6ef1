import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStore } from '../../../src/store/store.ts';
import { storeTenantRows, type RouteValues } from '../../support/api/tenant-rows.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from '../python/python-venv.ts';

// Schemathesis reads the OpenAPI document of a running `serve` and asks each route for much that a schema allows, and much that it does
// not. Each reply has to be documented, with a body as its schema says.

/** Most of it is for the first time, when the packages are fetched. */
const TIMEOUT_MS = 20 * 60_000;

const TOKEN = 'the-token-of-the-fuzzer';

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

/** Cases that follow from the schemas. The whole proof adds random ones, which cost seven times as much each: SPANSCORE_API_PHASES=coverage,fuzzing. */
const PHASES = process.env['SPANSCORE_API_PHASES'] ?? 'coverage';

/** Random cases of a route. */
const CASES = '15';

const venv = await pythonVenv('schemathesis');
if ('missing' in venv) {
  tellNotProved('Schemathesis', venv.missing);
}

let folder: ServeFolder;
let url: string;

beforeAll(async () => {
  folder = new ServeFolder({
    auth: { tokens: [{ name: 'fuzzer', token: TOKEN, scopes: ['admin'] }] },
    api: { endpoint: '127.0.0.1:0', requestsPerMinute: 1_000_000 },
  });
  const { api, clickhouse } = await folder.start();
  url = `${api}/api/v1/openapi.json`;
  const store = await openStore({ ...clickhouse, retention: { spansDays: 30, scoresDays: 400 } });
  const values = await storeTenantRows(store, 'ann');
  await store.close();
  writeFileSync(join(folder.path, 'schemathesis.toml'), describeParameters(values));
});
afterAll(() => folder.dispose());

/** Reads ask for what is stored; the ids of writes are made up. */
function describeParameters({
  traceId,
  spanId,
  scoreId,
  sessionId,
  id,
  version,
  scorer,
}: RouteValues): string {
  const ids = { traceId, spanId, scoreId, sessionId, id };
  const lines = Object.entries(ids).map(([name, value]) => `"path.${name}" = ${JSON.stringify(value)}`);
  const query = Object.entries({ version, scorer }).map(
    ([name, value]) => `"query.${name}" = ${JSON.stringify(value)}`,
  );
  return `[[operations]]\ninclude-method = "GET"\n[operations.parameters]\n${[...lines, ...query].join('\n')}\n`;
}

it.skipIf('missing' in venv)(
  'answers each of thousands of requests with a documented status, and a body as its schema says',
  { timeout: TIMEOUT_MS },
  async () => {
    const flags = [
      ['--header', `Authorization: Bearer ${TOKEN}`],
      ['--header', 'Content-Type: application/json'],
      ['--checks', CHECKS.join(',')],
      ['--phases', PHASES],
      ['--max-examples', CASES],
      // A purge waits for all processes: on a busy machine this takes more than the ten seconds of the default.
      ['--request-timeout', '120'],
      ['--generation-deterministic', '--no-shrink', '--continue-on-failure', '--no-color'],
    ];
    const python = 'missing' in venv ? '' : venv.python;
    const result = await run(python, ['-m', 'schemathesis.cli', 'run', url, ...flags.flat()]);
    expect(result.output).not.toMatch(/FAILURES|ERRORS/u);
    expect(Number(/(\d+) generated/u.exec(result.output)?.[1])).toBeGreaterThan(1_000);
    expect(result.code).toBe(0);
  },
);

async function run(command: string, args: readonly string[]) {
  const env = { ...process.env, PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE };
  const options = { cwd: folder.path, env, maxBuffer: 64 << 20 };
  const ended = promisify(execFile)(command, [...args], options);
  const { stdout, code } = await ended.then(
    ({ stdout: text }) => ({ stdout: text, code: 0 }),
    (error: { readonly stdout: string; readonly code: number }) => error,
  );
  return { output: stdout, code };
}
