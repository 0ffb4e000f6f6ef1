import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listComponents } from '../../src/app/list-components.ts';
import { COMPONENTS } from '../../src/components.ts';
import { createConfigReader, isSecretPath, reportedIssues } from '../../src/config/index.ts';
import { schemaNodesAt } from '../../src/config/json-schema.ts';
import type { KeyPath } from '../../src/config/key-path.ts';
import { secret } from '../../src/config/schema/fields.ts';
import { defineChannel } from '../../src/outbound/alerts/channel-definition.ts';
import { folderWith } from '../support/builders/config-files.ts';

/** A component of each kind, as its own file would define it. */
const pigeonChannel = defineChannel({
  name: 'pigeon',
  options: z
    .array(
      z.strictObject({ url: z.url().describe('Address of the loft.'), ring: secret('Number of the ring.') }),
    )
    .describe('Carrier pigeons.'),
  mayBePrivate: false,
  readTarget: ({ url }) => ({ url, identity: { key: 'url', value: url } }),
  create: async () => [],
});

const WITH_PIGEONS = { ...COMPONENTS, channels: [...COMPONENTS.channels, pigeonChannel] } as const;
const reader = createConfigReader(WITH_PIGEONS);

async function load(text: string) {
  return reader.loadConfig({ cwd: folderWith({ 'spanscore.config.yaml': text }), variables: {} });
}

/** Loads a configuration that has faults; returns them with line and column. */
async function faultsIn(text: string) {
  const failure = await load(text).catch((error: unknown) => error);
  return reportedIssues(failure).map(({ path, line, column, message }) => ({ path, line, column, message }));
}

function describeKey(path: KeyPath) {
  return schemaNodesAt(path, reader.jsonSchema()).map(({ description }) => description);
}

describe('a new line in the list of channels', () => {
  it('is enough for a section of the configuration', async () => {
    const { config } = await load('alerts:\n  pigeon: [{ url: https://loft.example.com, ring: "7" }]\n');
    expect(config.alerts.pigeon).toEqual([{ url: 'https://loft.example.com', ring: '7' }]);
    expect(reader.parseConfig({ rules: [] }).alerts.pigeon).toEqual([]);
  });

  it('is enough for faults with line and column, and for a suggestion', async () => {
    expect(await faultsIn('alerts:\n  pigeon:\n    - { url: loft, ring: "7" }\n')).toEqual([
      { path: 'alerts.pigeon[0].url', line: 3, column: 9, message: expect.any(String) },
    ]);
    expect(
      await faultsIn('alerts:\n  pigeon:\n    - { url: "https://a.example", rimg: "7" }\n'),
    ).toMatchObject([
      { path: 'alerts.pigeon[0].rimg', line: 3, column: 35, message: 'unknown key; did you mean ring?' },
    ]);
    expect(await faultsIn('alerts:\n  pigeom: []\n')).toMatchObject([
      { path: 'alerts.pigeom', line: 2, column: 3, message: 'unknown key; did you mean pigeon?' },
    ]);
  });

  it('is enough for the checks of its addresses', async () => {
    const twice =
      'alerts:\n  pigeon:\n    - { url: "https://10.0.0.1/", ring: "7" }\n    - { url: "https://10.0.0.1/", ring: "8" }\n';
    expect((await faultsIn(twice)).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'alerts.pigeon[0]: 10.0.0.1 is a private address; add it to alerts.allowAddresses if it is meant',
      'alerts.pigeon[1]: 10.0.0.1 is a private address; add it to alerts.allowAddresses if it is meant',
      'alerts.pigeon[1].url: is configured twice; remove one, or name both',
    ]);
  });

  it('is enough for the JSON Schema, for secrets and for the list of components', () => {
    expect(describeKey(['alerts', 'pigeon'])).toEqual(['Carrier pigeons.']);
    expect(describeKey(['alerts', 'allowAddresses'])).toEqual([
      expect.stringContaining('webhook, slack, pagerduty and pigeon may call'),
    ]);
    expect(isSecretPath(['alerts', 'pigeon', 0, 'ring'], reader.jsonSchema())).toBe(true);
    expect(listComponents(WITH_PIGEONS).channels).toContainEqual({
      name: 'pigeon',
      key: 'alerts.pigeon',
      summary: 'Carrier pigeons.',
    });
  });
});
