import { JudgeError } from '../judge-error.ts';
import { withoutStrayMembers, withWantedTypes } from './stray-members.ts';
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

/** Schema of an answer. */
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
    const read = firstFitting((value) => fromZod(schema, value, (data) => data), dropStray(jsonSchema), asIs);
    return {
      jsonSchema,
      strict: jsonSchema !== undefined && isStrict(jsonSchema),
      validate: orConverted(read, jsonSchema),
    };
  }
  const jsonSchema = close(schema.jsonSchema) as object;
  const validate = schema.validate?.bind(schema);
  if (validate !== undefined) {
    // A `validate` function may read members that the schema does not name, so it gets the whole reply and decides itself about
    // further members.
    return {
      jsonSchema,
      strict: isStrict(jsonSchema),
      validate: orConverted(firstFitting(validate, asIs, dropStray(jsonSchema)), jsonSchema),
    };
  }
  const check = compile(schema.jsonSchema, fromJSONSchema as unknown as (json: object) => ZodJudgeSchema<T>);
  const read = firstFitting((value) => fromZod(check, value, () => value as T), dropStray(jsonSchema), asIs);
  return { jsonSchema, strict: isStrict(jsonSchema), validate: orConverted(read, jsonSchema) };
}

type Form = (value: unknown) => unknown;

const asIs: Form = (value) => value;

function dropStray(jsonSchema: object | undefined): Form {
  return jsonSchema === undefined ? asIs : (value) => withoutStrayMembers(value, jsonSchema);
}

/**
 * Checks a reply in one form and, when that form is refused, in another. The fault is that of the form without further members.
 */
function firstFitting<T>(
  validate: (value: unknown) => SchemaVerdict<T>,
  first: Form,
  second: Form,
): (value: unknown) => SchemaVerdict<T> {
  return (value) => {
    const verdict = validate(first(value));
    if (verdict.ok) {
      return verdict;
    }
    const other = validate(second(value));
    return other.ok || first === asIs ? other : verdict;
  };
}

/** Checks a refused reply once more with its texts as the types that the schema wants. */
function orConverted<T>(
  validate: (value: unknown) => SchemaVerdict<T>,
  jsonSchema: object | undefined,
): (value: unknown) => SchemaVerdict<T> {
  return (value) => {
    const verdict = validate(value);
    if (verdict.ok || jsonSchema === undefined) {
      return verdict;
    }
    const converted = validate(withWantedTypes(value, jsonSchema));
    return converted.ok ? converted : verdict;
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

type Node = Record<string, unknown>;

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
  return (schema as Node)['type'] === 'object' && everyObjectIsStrict(schema);
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
