import { expect, it } from 'vitest';
import { ReloadWorld, runReloads } from '../../../support/processes/reload-world.ts';

/** The whole proof is `npm run test:endurance`, with 200. */
const RELOADS = Number(process.env['SPANSCORE_RELOADS'] ?? 30);

it(`two scorers that reload ${RELOADS} times at random moments under load lose no trace, and decide and judge none twice`, async () => {
  const world = new ReloadWorld();
  const seed = Math.ceil(Math.random() * 1_000_000);
  try {
    const faults = await runReloads(world, {
      traces: 2 * RELOADS,
      reloads: RELOADS,
      seed,
      others: 1,
      tracesAReload: 2,
    });
    expect(faults.join('\n'), `seed ${seed}`).toBe('');
  } finally {
    await world.stop();
  }
}, 1_800_000);
