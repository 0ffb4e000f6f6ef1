type Node = Readonly<Record<string, unknown>>;

/** Keywords that a schema may use and still be written as a shape; titles and similar are left out. */
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
 * A JSON Schema in the short form in which people write one down, `{"verdicts":[{"n":integer,"verdict":"yes"|"no"}]}`, a
 * third of its length. Undefined for a schema that says more than the short form can.
 */
export function schemaShape(schema: unknown): string | undefined {
  if (!isNode(schema) || Object.keys(schema).some((key) => !KNOWN_KEYS.has(key))) {
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

/** Every member has to be required: the short form has no word for one that may be missing. */
function objectShape({ properties, required }: Node): string | undefined {
  if (!isNode(properties) || !Array.isArray(required)) {
    return undefined;
  }
  const members = Object.entries(properties).map(([name, member]) => {
    const shape = required.includes(name) ? schemaShape(member) : undefined;
    return shape === undefined ? undefined : `${JSON.stringify(name)}:${shape}`;
  });
  return members.includes(undefined) ? undefined : `{${members.join(',')}}`;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
