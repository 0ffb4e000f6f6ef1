import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../../src/configuration.ts';
import {
  isSecretPath,
  jsonSchemaText,
  monitorFileJsonSchema,
  monitorTestFileJsonSchema,
  settablePaths,
} from '../../../src/config/json-schema.ts';
import { nameVariable } from '../../../src/config/overrides.ts';
import { missingDocumentation, schemaKeys } from '../../../tools/docs/config-keys.ts';

describe('the JSON Schema of the configuration', () => {
  it('is as committed (after a change of the schema: vitest run --project unit test/unit/config -u)', async () => {
    const text = jsonSchemaText(configJsonSchema());
    await expect(text).toMatchFileSnapshot('../../../schemas/json/config.schema.json');
  });

  it('is as committed for monitor files and their tests, too', async () => {
    const rules = jsonSchemaText(monitorFileJsonSchema());
    await expect(rules).toMatchFileSnapshot('../../../schemas/json/monitors.schema.json');
    const tests = jsonSchemaText(monitorTestFileJsonSchema());
    await expect(tests).toMatchFileSnapshot('../../../schemas/json/monitor-tests.schema.json');
  });

  it('documents every key: its meaning, the unit of a number, an example of a text', () => {
    const keys = [configJsonSchema(), monitorFileJsonSchema(), monitorTestFileJsonSchema()].flatMap(
      (schema) => schemaKeys(schema),
    );
    const faults = keys.flatMap((key) => missingDocumentation(key) ?? []);

    expect([...new Set(faults)]).toEqual([]);
  });

  it.each([
    [{ type: 'string' }, 'a.b has no description'],
    [{ type: 'number', description: 'Cost.' }, 'a.b is a number without a unit'],
    [{ type: 'string', description: 'A name.' }, 'a.b is a text without a default'],
    [{ type: 'string', description: 'A name.', default: '' }, 'a.b is a text without a default'],
  ])('finds a key that is not documented: %j', (node, fault) => {
    expect(missingDocumentation({ path: 'a.b', node, isRequired: false })).toContain(fault);
  });

  it.each([
    [['store', 'password'], true],
    [['auth', 'tokens', 0, 'token'], true],
    [['judges', 'providers', 'openai', 'apiKey'], true],
    [['exporters', 'otlp', 'headers', 'authorization'], true],
    [['exporters', 'webhook', 'secret'], true],
    [['exporters', 'webhook', 'url'], true],
    [['alerts', 'webhook', 0, 'url'], true],
    [['alerts', 'slack', 0, 'url'], true],
    [['store', 'username'], false],
  ])('knows whether %j is a secret', (path, secret) => {
    expect(isSecretPath(path, configJsonSchema())).toBe(secret);
  });

  it('gives each variable one meaning', () => {
    const names = settablePaths(configJsonSchema()).map(nameVariable);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT');
    expect(names).toContain('SPANSCORE_STORE_DATA_DIR');
  });
});
