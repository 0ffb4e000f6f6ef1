import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../src/components.ts';
import { configJsonSchema, loadConfig } from '../../src/configuration.ts';
import { CONFIGURATION_PAGE } from '../../tools/docs/write-configuration-page.ts';
import { folderWith } from '../support/builders/config-files.ts';
import { schemaKeys } from '../../tools/docs/config-keys.ts';
import { exampleVariables } from '../support/documents/documented-options.ts';
import { configurationPage } from '../../tools/docs/configuration-page.ts';

const page = readFileSync(CONFIGURATION_PAGE, 'utf8');
const examples = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);

describe('docs/configuration.md', () => {
  it('is as the schema says (after a change: node tools/docs/write-configuration-page.ts)', () => {
    expect(page).toBe(configurationPage());
  });

  it('has an example of every part', () => {
    const parts = Object.keys(configJsonSchema().properties ?? {}).filter((name) => name !== '$schema');

    for (const part of parts) {
      expect(page, `add an example of ${part} to tools/docs/configuration-examples.ts`).toMatch(
        new RegExp(`^## ${part}$[^#]*^${part}:`, 'm'),
      );
    }
  });

  it('names every key', () => {
    const keys = schemaKeys(configJsonSchema()).filter(
      ({ path, node }) => node.properties === undefined && !path.endsWith('$schema'),
    );

    expect(keys.filter(({ path }) => !page.includes(`| \`${path}\` |`))).toEqual([]);
  });

  it.each(examples)('has an example that can be used: %s', async (text) => {
    const cwd = folderWith({ 'spanscore.config.yaml': text, 'tone-of-voice.ts': '' });

    const loading = loadConfig({ cwd, variables: exampleVariables(text), scorers: PREBUILT_SCORERS });
    await expect(loading).resolves.toBeDefined();
  });
});
