import { afterEach, expect, it } from 'vitest';
import { type NamingScoring, startIssueNames } from '../../../src/issues/name-issues.ts';
import type { StartedPart } from '../../../src/process/parts.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildFailure, buildIssueRow } from '../../support/builders/a-failure.ts';

let part: StartedPart | undefined;

afterEach(() => part?.stop());

it('a process that loses the duty asks for no further titles: the next one does', async () => {
  const issues = Array.from({ length: 12 }, (_, index) =>
    buildIssueRow(buildFailure({ issueId: String(index) })),
  );
  const asked: string[] = [];
  let epoch: number | undefined = 1;
  const failures = {
    unnamed: async () => issues,
    examples: async ({ issueId }: { issueId: string }) => {
      asked.push(issueId);
      epoch = undefined;
      return [];
    },
  };
  const scoring = { purged: { renew: () => undefined, has: () => false } } as unknown as NamingScoring;
  let looks = 0;
  part = startIssueNames(() => ({ isOn: true, scoring }), { failures } as unknown as Store, {
    duties: { join: () => undefined, readEpoch: async () => epoch, leave: async () => undefined },
    log: silentLog,
    timers: {
      sleep: (_ms, signal) => {
        looks += 1;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    },
  });

  await expect.poll(() => looks).toBeGreaterThan(0);
  expect(asked).toEqual(['0', '1', '2', '3']);
});
