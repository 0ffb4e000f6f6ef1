import type { JsonJudgeSchema, SchemaVerdict } from '../../../judge/judge-schema.ts';
import { isRecord } from '../../utils/is-record.ts';

/** More claims than any answer makes; a list beyond it is a judge that runs away. */
const MAX_CLAIMS = 500;

export interface ClaimsReply {
  claims: string[];
}

/** The claims of an answer, in order. */
export const CLAIMS_SCHEMA: JsonJudgeSchema<ClaimsReply> = {
  jsonSchema: {
    type: 'object',
    properties: { claims: { type: 'array', items: { type: 'string' } } },
    required: ['claims'],
    additionalProperties: false,
  },
  validate: readClaims,
};

function readClaims(value: unknown): SchemaVerdict<ClaimsReply> {
  const claims = isRecord(value) ? value['claims'] : undefined;
  if (!Array.isArray(claims) || !claims.every((claim) => typeof claim === 'string')) {
    return { ok: false, fault: 'the reply needs a field "claims" that is a list of texts' };
  }
  const stated = claims.map((claim) => claim.trim()).filter((claim) => claim !== '');
  return stated.length > MAX_CLAIMS
    ? { ok: false, fault: `${stated.length} claims are more than the ${MAX_CLAIMS} allowed` }
    : { ok: true, value: { claims: stated } };
}
