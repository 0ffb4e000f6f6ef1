import { isRecord } from '../../domain/unknown-values.ts';

type Node = Readonly<Record<string, unknown>>;

/** Keywords of schemas that can be written as a shape; titles and similar keywords are left out of the shape. */
const KNOWN_KEYS = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  '$schema',
]);
const PLAIN_TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/**
 * Writes a JSON Schema in the short form that people use, `{"verdicts":[{"n":integer,"verdict":"yes"|"no"}]}`; it has a third
 * of the length. Undefined for a schema that the short form cannot express.
 */
export function schemaShape(schema: unknown): string | undefined {
  if (!isRecord(schema) || Object.keys(schema).some((key) => !KNOWN_KEYS.has(key))) {
    return undefined;
  }
  const { type } = schema;
  if (Array.isArray(schema['enum'])) {
    return schema['enum'].map((value) => JSON.stringify(value)).join('|');
  }
  if (type === 'object') {
    return objectShape(schema);
  }
  if (type === 'array') {
    const items = schemaShape(schema['items']);
    return items === undefined ? undefined : `[${items}]`;
  }
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return types.every((name) => PLAIN_TYPES.has(String(name))) ? types.join('|') : undefined;
}

/** Writes the shape of an object. All members must be required: the short form cannot mark a member as optional. */
function objectShape({ properties, required }: Node): string | undefined {
  if (!isRecord(properties) || !Array.isArray(required)) {
    return undefined;
  }
  const members = Object.entries(properties).map(([name, member]) => {
    const shape = required.includes(name) ? schemaShape(member) : undefined;
    return shape === undefined ? undefined : `${JSON.stringify(name)}:${shape}`;
  });
  return members.includes(undefined) ? undefined : `{${members.join(',')}}`;
}
