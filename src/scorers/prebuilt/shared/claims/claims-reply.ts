import type { JsonJudgeSchema } from '../../../../judge/reply/judge-schema.ts';
import { arraySchema, objectSchema, TEXT } from '../json-schema.ts';
import { replyReader } from '../reply-reader.ts';

export interface ClaimsReply {
  claims: string[];
}

/** Schema of a list of statements under the name `field`; blank statements are left out. */
export function statementsSchema<TField extends string>(
  field: TField,
): JsonJudgeSchema<Record<TField, string[]>> {
  return {
    jsonSchema: objectSchema({ [field]: arraySchema(TEXT) }),
    validate: replyReader((reply) => {
      const stated = reply.texts(field).map((statement) => statement.trim());
      return { [field]: stated.filter((statement) => statement !== '') } as Record<TField, string[]>;
    }),
  };
}
