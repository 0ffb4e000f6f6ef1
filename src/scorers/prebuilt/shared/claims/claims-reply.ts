import type { JsonJudgeSchema } from '../../../../judge/reply/judge-schema.ts';
import { arraySchema, objectSchema, TEXT } from '../json-schema.ts';
import { replyReader } from '../reply-reader.ts';

export interface ClaimsReply {
  claims: string[];
}

/**
 * Schema of a list of statements under the name `field`; blank statements are left out. Members that the judge adds stay in the
 * result of the step, as in the reference.
 */
export function statementsSchema<TField extends string>(
  field: TField,
): JsonJudgeSchema<Record<TField, string[]>> {
  return {
    jsonSchema: objectSchema({ [field]: arraySchema(TEXT) }),
    validate: replyReader((reply) => {
      const stated = reply.texts(field).map((statement) => statement.trim());
      const statements = stated.filter((statement) => statement !== '');
      return { ...reply.others(field), [field]: statements } as Record<TField, string[]>;
    }),
  };
}
