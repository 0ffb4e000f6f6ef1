import fc from 'fast-check';

/**
 * Seed of properties. Each run tries the same cases, so that only a change of the code can make a test fail.
 * `SPANSCORE_PROPERTY_SEED=random` tries other cases.
 */
const seed = process.env['SPANSCORE_PROPERTY_SEED'] ?? '1';
if (seed !== 'random') {
  fc.configureGlobal({ seed: Number(seed) });
}

export { fc };
