import type { JudgeSchema } from '../judge/judge.ts';
import type { SchemaVerdict } from '../judge/reply/judge-schema.ts';
import { ScorerError } from './scorer-error.ts';
import type { SdkSchema, StandardSchema } from './schema-forms.ts';
import type { OutputSchema } from './scorer-steps.ts';

const known = new WeakMap<object, Promise<JudgeSchema<unknown>>>();

/** Returns true for a schema, and false for a function that returns one: some schemas are functions too. */
export function isSchema<T>(schema: T): schema is Exclude<T, (...args: never[]) => unknown> {
  return typeof schema !== 'function' || '~standard' in schema;
}

/**
 * Converts a schema to the form that the judge uses, once for each schema. Throws `ScorerError` for a schema that cannot be
 * used.
 */
export function toJudgeSchema(schema: OutputSchema<unknown>): Promise<JudgeSchema<unknown>> {
  const made = known.get(schema) ?? convert(schema);
  known.set(schema, made);
  return made;
}

async function convert(schema: OutputSchema<unknown>): Promise<JudgeSchema<unknown>> {
  if ('safeParse' in schema) {
    return schema as JudgeSchema<unknown>;
  }
  if ('~standard' in schema) {
    return standard(schema as StandardSchema<unknown>);
  }
  if ('_type' in schema && 'jsonSchema' in schema) {
    return { jsonSchema: await (schema as SdkSchema<unknown>).jsonSchema };
  }
  return 'jsonSchema' in schema ? (schema as JudgeSchema<unknown>) : { jsonSchema: schema };
}

function standard(schema: StandardSchema<unknown>): JudgeSchema<unknown> {
  const { '~standard': props } = schema;
  const validate = (value: unknown): SchemaVerdict<unknown> => {
    const result = props.validate(value);
    if (result instanceof Promise) {
      throw new ScorerError(
        `The outputSchema of ${props.vendor} checks asynchronously; give one that answers at once, or a JSON Schema`,
        { id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS' },
      );
    }
    return result.issues === undefined
      ? { ok: true, value: result.value }
      : { ok: false, fault: `it does not match the schema (${result.issues.map(messageIn).join('; ')})` };
  };
  const jsonSchema = props.jsonSchema?.input({ target: 'draft-2020-12' });
  return jsonSchema === undefined ? asParser(validate) : { jsonSchema, validate };
}

/** Wraps a schema that has no JSON form: the schema is not sent to the model, it only checks the reply. */
function asParser(validate: (value: unknown) => SchemaVerdict<unknown>): JudgeSchema<unknown> {
  return {
    safeParse(value) {
      const verdict = validate(value);
      return verdict.ok
        ? { success: true, data: verdict.value }
        : { success: false, error: { issues: [{ path: [], message: verdict.fault }] } };
    },
  };
}

function messageIn({ message }: { readonly message: string }): string {
  return message;
}
