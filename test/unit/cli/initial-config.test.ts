import { describe, expect, it } from 'vitest';
import { initialConfig } from '../../../src/cli/commands/init.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { loadConfig } from '../../../src/configuration.ts';
import { folderWith } from '../../support/builders/config-files.ts';

/** Removes the comment sign before each key; prose begins with a capital letter. */
function uncommented(text: string): string {
  return text.replaceAll(/^(\s*)# (?=[a-z\s-])/gm, '$1');
}

describe('the file of spanscore init', () => {
  it.each([{}, { SPANSCORE_JUDGE: 'openai/gpt-5-mini' }])(
    'changes nothing of what serve does without a file, with %j',
    async (variables) => {
      const cwd = folderWith({});
      const options = { cwd, variables, scorers: PREBUILT_SCORERS };
      const bare = await loadConfig(options);
      const folder = folderWith({ 'spanscore.config.yaml': initialConfig(undefined) });
      const { config, warnings, notes } = await loadConfig({ ...options, cwd: folder });

      // Paths differ with the folder.
      const { store, judges } = bare.config;
      expect({
        ...config,
        store: { ...config.store, dataDir: store.dataDir },
        judges: { ...config.judges, packagesFrom: judges.packagesFrom },
      }).toEqual(bare.config);
      expect({ warnings, notes }).toEqual({ warnings: bare.warnings, notes: bare.notes });
    },
  );

  it('has comments that can be used once the sign before them is removed', async () => {
    const text = uncommented(initialConfig(undefined)).replace(/^ *spans: .*\n/m, '');
    const variables = {
      TEAM_A_TOKEN: 'a-token-of-16-chars',
      OPENAI_API_KEY: 'k',
      SLACK_HOOK: 'https://hooks.slack.com/services/x',
    };
    const cwd = folderWith({ 'spanscore.config.yaml': text, 'tone-of-voice.ts': '' });

    const { config } = await loadConfig({ cwd, variables, scorers: PREBUILT_SCORERS });
    const bare = await loadConfig({ cwd: folderWith({}), variables: {}, scorers: PREBUILT_SCORERS });

    expect(config.rules[0]).toEqual(bare.config.rules[0]);
    expect(config.rules[1]?.budget).toEqual({ perDay: 5 });
    expect(Object.keys(config.judges.prices)).toEqual(['local/qwen3']);
    expect(config.scorers).toHaveProperty('tone-of-voice');
    expect(config.monitors).toHaveLength(1);
  });

  it('names the schema only where there is one', () => {
    expect(initialConfig(undefined)).not.toContain('yaml-language-server');
    expect(initialConfig('./x.json')).toMatch(/^# yaml-language-server: \$schema=\.\/x\.json\n/);
  });
});
