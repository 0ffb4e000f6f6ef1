import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { createConfiguredJudges } from '../../../../src/scoring/setup/scorer-kit.ts';

/** Creates the judges of a configuration with one provider. */
function judgesOf(provider: object, judges: object = {}) {
  const providers = { local: { baseURL: 'http://127.0.0.1:1/v1', ...provider } };
  return parseConfig({ judges: { providers, ...judges } });
}

describe('the judges of a changed configuration', () => {
  it.each([
    ['keep the limits of an equal provider', {}, { prices: { 'local/m': { input: 1, output: 1 } } }, true],
    ['have other limits with another number of calls', { concurrency: 3 }, {}, false],
    ['have other limits at another address', { baseURL: 'http://127.0.0.1:2/v1' }, {}, false],
    ['have other limits with another key', { apiKey: 'another' }, {}, false],
  ])('%s', async (_, provider, judges, isShared) => {
    const former = createConfiguredJudges(judgesOf({}));
    const { gate, breaker } = await former.resolve('local/m');
    const next = createConfiguredJudges(judgesOf(provider, judges), former);
    const resolved = await next.resolve('local/m');
    expect([resolved.gate === gate, resolved.breaker === breaker]).toEqual([isShared, isShared]);
  });
});
