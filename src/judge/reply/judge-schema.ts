import { JudgeError } from '../judge-error.ts';
import { isRecord } from '../../domain/unknown-values.ts';

export type SchemaVerdict<T> = { ok: true; value: T } | { ok: false; fault: string };

/** A JSON Schema. Without `validate`, the reply is checked against the schema itself. */
export interface JsonJudgeSchema<T> {
  readonly jsonSchema: object;
  validate?(value: unknown): SchemaVerdict<T>;
}

interface SchemaIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The parts of a Zod 4 schema that the judge needs. */
interface ZodJudgeSchema<T> {
  safeParse(
    value: unknown,
  ): { success: true; data: T } | { success: false; error: { issues: readonly SchemaIssue[] } };
}

export type JudgeSchema<T> = ZodJudgeSchema<T> | JsonJudgeSchema<T>;

export interface ResolvedSchema<T> {
  /** Sent to the model; undefined when the schema has no JSON form: then only the reply is checked. */
  readonly jsonSchema: object | undefined;
  /** True when the schema satisfies the stricter subset of constrained decoding: closed objects with all members required. */
  readonly strict: boolean;
  readonly validate: (value: unknown) => SchemaVerdict<T>;
}

const resolved = new WeakMap<object, Promise<ResolvedSchema<unknown>>>();

/**
 * Reads a schema once and remembers the result. Models add members that nobody asked for, so members that the schema does not
 * name are removed from a reply. Zod is loaded here, with the first structured question.
 */
export function resolveSchema<T>(schema: JudgeSchema<T>): Promise<ResolvedSchema<T>> {
  let known = resolved.get(schema);
  if (known === undefined) {
    known = readSchema(schema);
    resolved.set(schema, known);
  }
  return known as Promise<ResolvedSchema<T>>;
}

async function readSchema<T>(schema: JudgeSchema<T>): Promise<ResolvedSchema<T>> {
  const { toJSONSchema, fromJSONSchema } = await import('zod');
  if ('safeParse' in schema) {
    const jsonSchema =
      '_zod' in schema
        ? (close(toJSONSchema(schema as never, { io: 'input', unrepresentable: 'any' })) as object)
        : undefined;
    return buildSchema(jsonSchema, (value) => fromZod(schema, value, (data) => data));
  }
  const jsonSchema = close(schema.jsonSchema) as object;
  const validate = schema.validate?.bind(schema);
  if (validate !== undefined) {
    // A `validate` function may read members that the schema does not name, so it gets the whole reply and decides itself about
    // further members.
    return buildSchema(jsonSchema, validate, true);
  }
  const check = compile(schema.jsonSchema, fromJSONSchema as unknown as (json: object) => ZodJudgeSchema<T>);
  return buildSchema(jsonSchema, (value) => fromZod(check, value, () => value as T));
}

/**
 * Builds a schema that tries a reply in several forms: without members that the JSON Schema does not name, whole, and with texts as
 * the types that it wants. The fault is the one of the form without further members.
 */
function buildSchema<T>(
  jsonSchema: object | undefined,
  validate: ResolvedSchema<T>['validate'],
  isWholeFirst = false,
): ResolvedSchema<T> {
  if (jsonSchema === undefined) {
    return { jsonSchema, strict: false, validate };
  }
  const read = (value: unknown): SchemaVerdict<T> => {
    const bare = withoutStrayMembers(value, jsonSchema);
    const verdict = validate(isWholeFirst ? value : bare);
    if (verdict.ok) {
      return verdict;
    }
    const other = validate(isWholeFirst ? bare : value);
    return other.ok || isWholeFirst ? other : verdict;
  };
  return {
    jsonSchema,
    strict: isStrict(jsonSchema),
    validate: (value) => {
      const verdict = read(value);
      const converted = verdict.ok ? verdict : read(withWantedTypes(value, jsonSchema));
      return converted.ok ? converted : verdict;
    },
  };
}

function compile<T>(jsonSchema: object, from: (json: object) => ZodJudgeSchema<T>): ZodJudgeSchema<T> {
  try {
    return from(jsonSchema);
  } catch (cause) {
    throw new JudgeError(
      'judge_misconfigured',
      `the answer's JSON Schema cannot be read: ${(cause as Error).message}; correct it or give a validate function`,
      { cause },
    );
  }
}

const MAX_ISSUES = 5;

function fromZod<T>(schema: ZodJudgeSchema<T>, value: unknown, pick: (data: T) => T): SchemaVerdict<T> {
  const result = schema.safeParse(value);
  if (result.success) {
    return { ok: true, value: pick(result.data) };
  }
  const faults = result.error.issues.slice(0, MAX_ISSUES).map((issue) => {
    const path = issue.path.map(String).join('.');
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  return { ok: false, fault: `it does not match the schema (${faults.join('; ')})` };
}

type Node = Readonly<Record<string, unknown>>;

/** Closes objects for the model, but only those whose members are all named. */
function close(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    return schema.map(close);
  }
  if (!isRecord(schema)) {
    return schema;
  }
  const closed = Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== '$schema')
      .map(([key, value]) => [
        key,
        key === 'properties' && isRecord(value)
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, close(member)]))
          : key === 'enum' || key === 'const' || key === 'default' || key === 'examples'
            ? value
            : close(value),
      ]),
  );
  return isRecord(closed['properties']) && closed['additionalProperties'] === undefined
    ? { ...closed, additionalProperties: false }
    : closed;
}

/** True when every object in the schema is closed and requires all its members, and the root is an object. */
function isStrict(schema: object): boolean {
  return (schema as Record<string, unknown>)['type'] === 'object' && everyObjectIsStrict(schema);
}

function everyObjectIsStrict(node: unknown): boolean {
  if (Array.isArray(node)) {
    return node.every(everyObjectIsStrict);
  }
  if (!isRecord(node)) {
    return true;
  }
  if (node['type'] === 'object') {
    const properties = isRecord(node['properties']) ? Object.keys(node['properties']) : [];
    const required = Array.isArray(node['required']) ? node['required'] : [];
    if (node['additionalProperties'] !== false || !properties.every((name) => required.includes(name))) {
      return false;
    }
  }
  return Object.values(node).every(everyObjectIsStrict);
}

/** Keywords that name further members by a condition: an object with one of them is left open. */
const CONDITIONS = ['if', 'then', 'else', 'dependentSchemas', 'unevaluatedProperties'];

/**
 * Copies a reply without the members that its JSON Schema does not name. Objects that the schema leaves open keep all their
 * members. Where the schema allows several shapes, a member that any of them names is kept.
 */
function withoutStrayMembers(value: unknown, jsonSchema: object): unknown {
  return copy(value, [jsonSchema], { root: jsonSchema, isOpen: (shapes) => shapes.some(takesAnyMember) });
}

/**
 * Copies a reply with texts as the type that its JSON Schema wants: `"true"` for a boolean, `"1"` for a number. A place where the
 * schema takes a text, or no single type, keeps its text, and so does a text of another kind.
 */
function withWantedTypes(value: unknown, jsonSchema: object): unknown {
  return copy(value, [jsonSchema], {
    root: jsonSchema,
    isOpen: () => true,
    onLeaf: (leaf, shapes) => {
      const types = new Set(shapes.flatMap((shape) => (shape === true ? 'any' : (shape['type'] ?? 'any'))));
      types.delete('null');
      const [type] = types;
      return typeof leaf === 'string' && types.size === 1 ? readAs(type, leaf) : leaf;
    },
  });
}

interface CopyTerms {
  readonly root: object;
  /** True for an object of these shapes that keeps members which none of them names. */
  readonly isOpen: (shapes: readonly (Node | true)[]) => boolean;
  readonly onLeaf?: (leaf: unknown, shapes: readonly (Node | true)[]) => unknown;
}

function copy(value: unknown, schemas: readonly unknown[], terms: CopyTerms): unknown {
  const shapes = schemas.flatMap((schema) => listShapes(schema, terms.root, new Set()));
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => copy(item, itemSchemas(shapes, index), terms));
  }
  if (!isRecord(value)) {
    return terms.onLeaf === undefined ? value : terms.onLeaf(value, shapes);
  }
  const isOpen = shapes.length === 0 || terms.isOpen(shapes);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const named = shapes.flatMap((shape) => memberSchemas(shape, name));
      return named.length === 0 && !isOpen ? [] : [[name, copy(member, named, terms)]];
    }),
  );
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

/** Tokens of one text of a reply: two long sentences. */
const TEXT_TOKENS = 250;
/** Tokens of any other value, and of a name with its signs. */
const WORD_TOKENS = 8;
/** Tokens of a reply that is a text. */
const WHOLE_TEXT_TOKENS = 700;
/** Bytes of a prompt for each item of a list in the reply: lists name the sentences of the prompt, which are rarely shorter. */
const BYTES_PER_ITEM = 120;
const ITEMS = { least: 5, most: 100 };
/** Room above what a reply needs at most. */
const ROOM = 3;
const REPLY_TOKENS = { least: 500, most: 8_192 };

/**
 * Finds the most tokens that a reply may have: three times what its form needs, at least 500 and at most 8,192. So a model that repeats
 * itself ends, and no useful reply is cut.
 * @param schema JSON Schema of the reply; undefined for a text
 */
export function findOutputLimit(schema: object | undefined, promptBytes: number): number {
  const items = Math.min(ITEMS.most, Math.max(ITEMS.least, Math.ceil(promptBytes / BYTES_PER_ITEM)));
  const need = schema === undefined ? WHOLE_TEXT_TOKENS : countTokens(schema, items);
  return Math.min(REPLY_TOKENS.most, Math.max(REPLY_TOKENS.least, need * ROOM));
}

function countTokens(schema: unknown, items: number): number {
  if (!isRecord(schema)) {
    return TEXT_TOKENS;
  }
  const { type, properties, items: item, enum: words, anyOf, oneOf } = schema;
  const choices = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  if (choices.length > 0) {
    return Math.max(...choices.map((choice) => countTokens(choice, items)));
  }
  if (isRecord(properties)) {
    return Object.values(properties).reduce<number>(
      (sum, member) => sum + WORD_TOKENS + countTokens(member, items),
      WORD_TOKENS,
    );
  }
  if (type === 'array') {
    return items * countTokens(item, ITEMS.least);
  }
  const isWord = Array.isArray(words) || ['number', 'integer', 'boolean', 'null'].includes(String(type));
  return isWord ? WORD_TOKENS : TEXT_TOKENS;
}
