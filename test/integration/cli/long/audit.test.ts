import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { emptyFolder } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { newTraceId, storeFlags, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

interface AuditRow {
  readonly Tenant: string;
  readonly Action: string;
  readonly Subjects: string[];
}

let base: TestStore;
const cwd = emptyFolder();

beforeAll(async () => {
  base = await testStore();
  writeFileSync(
    join(cwd, 'spanscore.config.yaml'),
    'rules: [{ name: all, scorers: [completeness] }]\nstore: { purgeKey: a-key-of-32-characters-at-least-xx }\n',
  );
});
afterAll(() => base.stop());

function run(argv: readonly string[], signal?: AbortSignal) {
  return runCommand([...argv, ...storeFlags(base.options)], { cwd, ...(signal && { signal }) });
}

function readAudit(command: string): Promise<AuditRow[]> {
  return queryRows<AuditRow>(
    base.options,
    `SELECT Tenant, Action, Subjects FROM audit WHERE Token = 'spanscore ${command}' ORDER BY Action`,
  );
}

it.each([
  ['alerts ack', ['inc-1'], 'alert.acknowledge', 'incident:inc-1'],
  ['alerts mute', ['Worse', '--for', '1h'], 'mute.set', 'alert:Worse'],
  ['alerts unmute', ['Worse'], 'mute.end', 'alert:Worse'],
  ['backfill pause', ['job-1'], 'backfill.pause', 'backfill:job-1'],
  ['backfill resume', ['job-1'], 'backfill.resume', 'backfill:job-1'],
  ['backfill cancel', ['job-1'], 'backfill.cancel', 'backfill:job-1'],
] as const)('%s leaves an audit row, also when it then fails', async (command, args, action, subject) => {
  const { code } = await run([...command.split(' '), ...args]);
  expect(code).not.toBe(0);
  expect(await readAudit(command)).toEqual([{ Tenant: '', Action: action, Subjects: [subject] }]);
});

it('backfill, its dry run and rescore leave audit rows', async () => {
  expect(await run(['backfill', '--from', '1d', '--dry-run'])).toMatchObject({ code: 0 });
  expect(await run(['backfill', '--from', '1d'])).toMatchObject({ code: 0 });
  expect(await run(['rescore', '--scorer', 'completeness'])).toMatchObject({ code: 0 });
  expect(await readAudit('backfill')).toMatchObject([
    { Action: 'backfill.preview' },
    { Action: 'backfill.start' },
  ]);
  expect(await readAudit('rescore')).toMatchObject([
    { Action: 'rescore.start', Subjects: ['scorer:completeness'] },
  ]);
});

it('preview leaves an audit row', async () => {
  expect(await run(['preview', '--rule', 'all'])).toMatchObject({ code: 0 });
  expect(await readAudit('preview')).toEqual([
    { Tenant: '', Action: 'rule.preview', Subjects: ['rule:all'] },
  ]);
});

it('purge leaves an audit row with hashes in place of ids, and none when nobody agrees', async () => {
  await base.store.runs.write([buildRunRecord({ tenant: 'acme', userId: 'eve' })]);
  expect(await run(['purge', '--user', 'eve', '--tenant', 'acme'])).toMatchObject({ code: 1 });
  expect(await readAudit('purge')).toEqual([]);
  const stopping = new AbortController();
  const ended = run(['purge', '--user', 'eve', '--tenant', 'acme', '--yes'], stopping.signal);
  await until(async () => (await readAudit('purge')).length > 0, 60_000);
  stopping.abort();
  await ended;
  const [row] = await readAudit('purge');
  expect(row).toMatchObject({
    Tenant: 'acme',
    Action: 'user.purge',
    Subjects: [expect.stringMatching(/^user:/u)],
  });
  expect(JSON.stringify(row)).not.toContain('eve');
});

it('score leaves an audit row only with --write', async () => {
  const traceId = newTraceId();
  await run(['score', traceId]);
  expect(await readAudit('score')).toEqual([]);
  await run(['score', traceId, '--write']);
  expect(await readAudit('score')).toMatchObject([{ Action: 'trace.score' }]);
});
