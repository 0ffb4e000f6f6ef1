import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/configuration.ts';
import { ConfigError } from '../../../src/domain/errors.ts';
import { KNOWN_SCORERS } from '../../support/builders/config-files.ts';

const FOLDER = new URL('../../fixtures/configs/bad/', import.meta.url);

describe('a configuration that cannot be used is refused with place, path and advice', () => {
  it.each(readdirSync(FOLDER))('%s', async (name) => {
    const path = new URL(name, FOLDER).pathname;
    const expected = /^# expect: (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1];

    const refusal = await loadConfig({ path, variables: {}, scorers: KNOWN_SCORERS }).catch(
      (error: unknown) => error,
    );

    expect(expected).toBeDefined();
    expect(refusal).toBeInstanceOf(ConfigError);
    expect((refusal as ConfigError).message).toContain(expected);
  });
});
