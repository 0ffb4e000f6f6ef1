import fc from 'fast-check';

/** Properties try the same cases in every run, so that a red test means a change; `SPANSCORE_PROPERTY_SEED=random` tries others. */
const seed = process.env['SPANSCORE_PROPERTY_SEED'] ?? '1';
if (seed !== 'random') {
  fc.configureGlobal({ seed: Number(seed) });
}

export { fc };
