import { expect, it, vi } from 'vitest';
import type { Config } from '../../../src/configuration.ts';
import { startReplaceable } from '../../../src/serve-scorer.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const config = {} as Config;
const store = { duties: { nameMember: () => 'one' } } as unknown as Store;

it('stops what a reload starts meanwhile, after what it stops', async () => {
  const former = Promise.withResolvers<void>();
  const steps: string[] = [];
  let started = 0;
  const start = vi.fn(async () => {
    started += 1;
    const name = `part ${started}`;
    steps.push(`${name} starts`);
    const stop = async () => {
      await former.promise;
      steps.push(`${name} stops`);
    };
    return [{ name, stage: 'exporters' as const, stop }];
  });
  const parts = await startReplaceable(start, { config, store, log: silentLog });
  const replacing = parts.replace(config);
  const stopping = parts.stop().then(() => steps.push('stopped'));
  await new Promise((resolve) => setImmediate(resolve));
  former.resolve();
  await Promise.all([replacing, stopping]);
  expect(steps).toEqual(['part 1 starts', 'part 1 stops', 'stopped']);
});
