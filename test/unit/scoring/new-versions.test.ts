import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { NewVersions } from '../../../src/scoring/select/new-versions.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';

function ask(target: string, serviceVersion: string) {
  const version = { service: 's', agent: '', serviceVersion, agentVersion: '' };
  return { tenant: '', rule: 'r', target, versions: [version], slots: 5, sinceMs: 0 };
}

it('keeps the place of a target beside a look that began before it had one', async () => {
  const { versionSamples } = new MemoryStore().stores;
  const { read, append } = versionSamples;
  const looked = Promise.withResolvers<void>();
  let looks = 0;
  let isVain = true;
  versionSamples.read = async (keys) => {
    looks += 1;
    const isLook = looks === 1;
    const found = await read(keys);
    await (isLook ? looked.promise : undefined);
    return found;
  };
  // Another process adds to the second version at the same time, so that it is looked at once more.
  versionSamples.append = async (key, ...terms) => {
    if (key.serviceVersion === '2' && isVain) {
      isVain = false;
      return;
    }
    await append(key, ...terms);
    if (key.serviceVersion === '2') {
      looked.resolve();
      await setImmediate();
    }
  };
  const versions = new NewVersions(versionSamples, silentLog);
  const looking = versions.find([ask('y', '1')]);
  const taken = await Promise.all([
    versions.take(ask('w', '0')),
    versions.take(ask('x', '1')),
    versions.take(ask('z', '2')),
  ]);
  await looking;
  expect(taken).toEqual([true, true, true]);
});
