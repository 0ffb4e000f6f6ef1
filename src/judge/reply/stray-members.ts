import { isRecord } from '../../domain/unknown-values.ts';

type Node = Readonly<Record<string, unknown>>;

/** Keywords that name further members by a condition: an object with one of them is left open. */
const CONDITIONS = ['if', 'then', 'else', 'dependentSchemas', 'unevaluatedProperties'];

/**
 * Copies a reply without the members that its JSON Schema does not name. Objects that the schema leaves open keep all their
 * members. Where the schema allows several shapes, a member that any of them names is kept.
 */
export function withoutStrayMembers(value: unknown, jsonSchema: object): unknown {
  return copy(value, [jsonSchema], jsonSchema);
}

function copy(value: unknown, schemas: readonly unknown[], root: object): unknown {
  const shapes = schemas.flatMap((schema) => listShapes(schema, root, new Set()));
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => copy(item, itemSchemas(shapes, index), root));
  }
  if (!isRecord(value)) {
    return value;
  }
  const isOpen = shapes.length === 0 || shapes.some(takesAnyMember);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const named = shapes.flatMap((shape) => memberSchemas(shape, name));
      return named.length === 0 && !isOpen ? [] : [[name, copy(member, named, root)]];
    }),
  );
}

/**
 * Copies a reply with texts as the type that its JSON Schema wants: `"true"` for a boolean, `"1"` for a number. A place where the
 * schema takes a text, or no single type, keeps its text, and so does a text of another kind.
 */
export function withWantedTypes(value: unknown, jsonSchema: object): unknown {
  return convert(value, [jsonSchema], jsonSchema);
}

function convert(value: unknown, schemas: readonly unknown[], root: object): unknown {
  const shapes = schemas.flatMap((schema) => listShapes(schema, root, new Set()));
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => convert(item, itemSchemas(shapes, index), root));
  }
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const named = shapes.flatMap((shape) => memberSchemas(shape, name));
        return [name, convert(member, named, root)];
      }),
    );
  }
  const types = new Set(shapes.flatMap((shape) => (shape === true ? 'any' : (shape['type'] ?? 'any'))));
  types.delete('null');
  const [type] = types;
  return typeof value === 'string' && types.size === 1 ? readAs(type, value) : value;
}

function readAs(type: unknown, said: string): unknown {
  const text = said.trim();
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) {
    return text.toLowerCase() === 'true';
  }
  const isNumber = type === 'number' || type === 'integer';
  return isNumber && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : said;
}

/**
 * Lists the schema and all schemas that it is composed of, with references resolved. A reference that cannot be resolved
 * accepts any value.
 */
function listShapes(schema: unknown, root: object, seen: Set<unknown>): (Node | true)[] {
  if (seen.has(schema)) {
    return [];
  }
  seen.add(schema);
  if (!isRecord(schema)) {
    return [true];
  }
  const { $ref: reference, ...own } = schema;
  const composed = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => schema[name] ?? []) as unknown[];
  const parts = typeof reference === 'string' ? [...composed, resolve(reference, root)] : composed;
  const isBare = parts.length > 0 && own['properties'] === undefined && own['items'] === undefined;
  return [...(isBare ? [] : [own]), ...parts.flatMap((part) => listShapes(part, root, seen))];
}

function resolve(reference: string, root: object): unknown {
  if (!reference.startsWith('#')) {
    return true;
  }
  const keys = reference.slice(1).split('/').filter(Boolean);
  return keys.reduce<unknown>(
    (at, key) => (isRecord(at) ? at[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
    root,
  );
}

function takesAnyMember(shape: Node | true): boolean {
  if (shape === true) {
    return true;
  }
  const { type, properties, patternProperties, additionalProperties } = shape;
  const mayBeObject =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  const namesMore = patternProperties !== undefined || CONDITIONS.some((name) => shape[name] !== undefined);
  return mayBeObject && (!isRecord(properties) || namesMore || (additionalProperties ?? false) !== false);
}

function memberSchemas(shape: Node | true, name: string): unknown[] {
  const properties = shape === true ? undefined : shape['properties'];
  return isRecord(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
}

function itemSchemas(shapes: readonly (Node | true)[], index: number): unknown[] {
  return shapes.flatMap((shape) => {
    if (shape === true) {
      return [];
    }
    const { items, prefixItems } = shape;
    const placed: unknown = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
    return placed ?? items ?? [];
  });
}
