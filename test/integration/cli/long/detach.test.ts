import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { AGGREGATE_DUTY } from '../../../../src/aggregates/refresh-aggregates.ts';
import { startJobRunner } from '../../../../src/jobs/job-runner.ts';
import type { JobKind } from '../../../../src/jobs/job-kind.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { emptyFolder, jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { storeFlags, testStore, type TestStore } from '../../../support/store/store-rows.ts';

let its: TestStore;
beforeAll(async () => {
  its = await testStore();
});
afterAll(() => its.stop());
beforeEach(async () => {
  const beat = { duty: AGGREGATE_DUTY, member: 'a-scorer', joinedAtMs: undefined, isLeaving: false };
  await its.store.duties.beat([beat]);
});

/** Starts the runner of a scorer process, which refuses jobs or does them at once. */
function startRunner(name: string, refusal: string | undefined): void {
  const { jobs, duties, spans } = its.store;
  const kind: JobKind = {
    name,
    refuse: () => refusal,
    run: async ({ checkpoint, report, costUsd }) => ({ checkpoint, report, costUsd }),
  };
  const deps = { jobs, duties, nowMs: () => spans.nowMs(), kinds: [kind], log: silentLog };
  const runner = startJobRunner(deps, { lookEveryMs: 200, lease: { settleMs: 100, lookEveryMs: 200 } });
  onTestFinished(() => runner.stop());
}

async function detach(...args: readonly string[]) {
  const cwd = emptyFolder();
  const rules = [{ name: 'live', scorers: ['keyword-coverage'] }];
  writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify({ rules }));
  const result = await runCommand([...args, '--detach', '--json', ...storeFlags(its.options)], { cwd });
  return { ...result, rows: jsonLines(result.stdout) };
}

describe.each([
  ['backfill', ['backfill', '--from', '7d']],
  ['rescore', ['rescore', '--scorer', 'keyword-coverage']],
])('a %s that is left to a running serve', (kind, args) => {
  it('ends with 69 and the reason of the serve that cannot do it', async () => {
    startRunner(kind, 'there is no scorer keyword-coverage');
    const { code, stderr, rows } = await detach(...args);
    expect(code).toBe(69);
    expect(rows).toMatchObject([{ kind, status: 'queued' }]);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: {
        code: 'store_unavailable',
        message: expect.stringMatching(/left the job: there is no scorer keyword-coverage; restart/),
      },
    });
  });

  it('ends with 0 once a serve has it', async () => {
    startRunner(kind, undefined);
    const { code, stderr } = await detach(...args);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('a running serve does it'),
    });
  });
});
