import type { JudgeSchema } from '../judge/judge.ts';
import type { OutputSchema } from './scorer-steps.ts';

/** The form that the judge takes: zod schemas and `{ jsonSchema, validate }` as they are, a bare JSON Schema wrapped. */
export function judgeSchemaOf(schema: OutputSchema<unknown>): JudgeSchema<unknown> {
  return 'safeParse' in schema || 'jsonSchema' in schema
    ? (schema as JudgeSchema<unknown>)
    : { jsonSchema: schema };
}
