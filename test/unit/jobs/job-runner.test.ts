import { expect, it, vi } from 'vitest';
import type { JobKind } from '../../../src/jobs/job-kind.ts';
import { startJobRunner } from '../../../src/jobs/job-runner.ts';
import type { DutyBeat } from '../../../src/store/contracts/stores.ts';
import type { JobStore } from '../../../src/store/jobs/jobs.ts';
import type { DutyStore } from '../../../src/store/tables/members.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildJob } from '../../support/scoring/backfill-runs.ts';

const NO_PROGRESS = { checkpoint: null, report: {}, costUsd: 0 };

it('runs a job by the kinds of a reload that came while it got the lease', async () => {
  const job = buildJob('k', {}, { id: 'j', status: 'queued' });
  const isOpen = { now: true };
  const jobs = {
    listOpen: async () => (isOpen.now ? [job] : []),
    find: async () => job,
    write: async ({ status }: { readonly status: string }) => void (isOpen.now &&= status !== 'done'),
  } as unknown as JobStore;
  const leased = Promise.withResolvers<void>();
  const asks = vi.fn<() => void>();
  const duties: DutyStore = {
    nameMember: () => 'one',
    beat: async (_beats: readonly DutyBeat[]) => undefined,
    dismissAll: async () => undefined,
    readMembers: async ([duty = '']) => {
      asks();
      await leased.promise;
      return [{ duty, member: 'one', joinedAtMs: 0, beatAtMs: 0, nowMs: 0 }];
    },
  };
  const ran: string[] = [];
  const createKind = (text: string): JobKind => ({
    name: 'k',
    run: async () => {
      ran.push(text);
      return NO_PROGRESS;
    },
  });
  const deps = { jobs, duties, nowMs: async () => 0, log: silentLog };
  const runner = startJobRunner({ ...deps, kinds: [createKind('former')] }, { lookEveryMs: 10 });
  await vi.waitFor(() => expect(asks).toHaveBeenCalled());
  await runner.setKinds([createKind('next')]);
  leased.resolve();
  await vi.waitFor(() => expect(ran).toHaveLength(1));
  await runner.stop();
  expect(ran).toEqual(['next']);
});
