import { afterEach, expect, it } from 'vitest';
import { ReloadWorld, runReloads } from '../../support/processes/reload-world.ts';

let world: ReloadWorld;

afterEach(() => world.stop());

it('a trace is decided by the revision that was in force when it arrived, once, while rules change under load', async () => {
  world = new ReloadWorld();
  const seed = Math.ceil(Math.random() * 1_000_000);
  expect({ seed, faults: await runReloads(world, { traces: 80, reloads: 10, seed }) }).toEqual({
    seed,
    faults: [],
  });
}, 300_000);
