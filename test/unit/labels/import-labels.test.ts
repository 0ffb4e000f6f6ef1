import { afterEach, expect, test } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { type LabelReader, startLabelImport } from '../../../src/labels/import-labels.ts';
import type { StartedPart } from '../../../src/process/parts.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { soleDuties } from '../../support/fakes/sole-duties.ts';

let part: StartedPart | undefined;

afterEach(() => part?.stop());

test('a tool that is away does not hold up the labels of the others', async () => {
  const store = {
    spans: { nowMs: async () => 1 },
    labels: {
      recentTraces: async () => [{ tenant: '', traceId: 't', spanIds: [] }],
      byAuthors: async () => [],
    },
  } as unknown as Store;
  const readers: LabelReader[] = [
    {
      kind: 'phoenix',
      read: async () => {
        const about = { code: 'delivery_failed', stage: 'receive', retryable: true } as const;
        throw new AppError('phoenix could not be read', about);
      },
    },
    {
      kind: 'mlflow',
      read: async () => [
        { traceId: 't', spanId: '', scorer: 'good', score: 1, label: '', reason: '', author: 'ann' },
      ],
    },
  ];
  const told: unknown[] = [];
  const posted = new Set<string>();
  part = startLabelImport(readers, store, {
    duties: { ...soleDuties, join: () => undefined },
    log: { ...silentLog, warn: (_message, fields) => told.push(fields) },
    everyMs: 5,
    post: async (_tenant, labels) => labels.forEach(({ scoredBy }) => posted.add(scoredBy)),
  });

  await expect.poll(() => [...posted]).toEqual(['mlflow:ann']);
  await expect.poll(() => told).toEqual([{ error: 'phoenix could not be read' }]);
});
