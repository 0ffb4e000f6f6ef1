import type { JsonSchemaNode } from '../../src/config/json-schema.ts';

/** Key of a schema, as the documentation lists it. */
export interface SchemaKey {
  /** Example: `rules[].where.service`, `judges.providers.<name>.apiKey`. */
  readonly path: string;
  readonly node: JsonSchemaNode;
  readonly isRequired: boolean;
  /** Set for a key of one of several alternatives: the value that selects the alternative, such as the name of a detector. */
  readonly alternative?: string | undefined;
}

/** Lists every key below a node, in the order of the schema. A key of several alternatives appears once for each. */
export function schemaKeys(node: JsonSchemaNode, path = '', alternative?: string): SchemaKey[] {
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
  const required = Array.isArray(node['required']) ? (node['required'] as unknown[]) : [];
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = path === '' ? key : `${path}.${key}`;
    return [
      { path: here, node: child, isRequired: required.includes(key), alternative },
      ...schemaKeys(child, here, alternative),
    ];
  });
  const named = node.additionalProperties;
  return [
    ...alternatives.flatMap((child) => schemaKeys(child, path, findChoice(child) ?? alternative)),
    ...own,
    ...(node.items === undefined ? [] : schemaKeys(node.items, `${path}[]`, alternative)),
    ...(typeof named === 'object' ? schemaKeys(named, `${path}.<name>`, alternative) : []),
  ];
}

function findChoice({ properties = {} }: JsonSchemaNode): string | undefined {
  const choice = Object.values(properties).find((child) => typeof child['const'] === 'string');
  return choice?.['const'] as string | undefined;
}

/**
 * Returns which part of its documentation a key lacks, and how to add it. Returns undefined when the documentation is
 * complete.
 */
export function missingDocumentation({ path, node }: SchemaKey): string | undefined {
  if (typeof node['description'] !== 'string' || node['description'].length === 0) {
    return `${path} has no description: add .describe('…')`;
  }
  if (['number', 'integer'].includes(node.type ?? '') && typeof node['unit'] !== 'string') {
    return `${path} is a number without a unit: add .meta({ unit: 'USD a day' })`;
  }
  const explainsItself =
    node['enum'] !== undefined ||
    node['const'] !== undefined ||
    ![undefined, ''].includes(node['default'] as string);
  return node.type === 'string' && !explainsItself && node['examples'] === undefined
    ? `${path} is a text without a default: add .meta({ examples: ['…'] })`
    : undefined;
}
