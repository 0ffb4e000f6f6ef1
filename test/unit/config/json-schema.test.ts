import { describe, expect, it } from 'vitest';
import {
  configJsonSchema,
  isSecretPath,
  jsonSchemaText,
  monitorFileJsonSchema,
  monitorTestFileJsonSchema,
  settablePaths,
  type JsonSchemaNode,
} from '../../../src/config/json-schema.ts';
import { variableOf } from '../../../src/config/overrides.ts';

/** Paths of all keys without a description of their own. */
function undescribed(node: JsonSchemaNode, path: string): string[] {
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap((child) =>
    undescribed(child, path),
  );
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = `${path}.${key}`;
    const inner = child.items ?? child.additionalProperties;
    return [
      ...(child['description'] === undefined ? [here] : []),
      ...undescribed(child, here),
      ...(typeof inner === 'object' ? undescribed(inner, here) : []),
    ];
  });
  return [...alternatives, ...own];
}

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

  it('describes every key', () => {
    expect(undescribed(configJsonSchema(), '')).toEqual([]);
    expect(undescribed(monitorFileJsonSchema(), '')).toEqual([]);
    expect(undescribed(monitorTestFileJsonSchema(), '')).toEqual([]);
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
    expect(isSecretPath(path)).toBe(secret);
  });

  it('gives each variable one meaning', () => {
    const names = settablePaths().map(variableOf);

    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT');
    expect(names).toContain('SPANSCORE_STORE_DATA_DIR');
  });
});
