import type { ErrorBody } from './error-body.ts';

type Words = Pick<ErrorBody, 'said' | 'codes'>;

/** Words of content filters: Azure, LiteLLM, OpenAI, Gemini, Bedrock, OpenRouter. */
const FILTER =
  /content.?(?:filter|policy|moderation|management policy)|responsible.?ai|prohibited.?content|blocklist|safety (?:system|filter|setting|policy|reason)|(?:input|prompt|text|content|response|request) (?:was |is |has been )?(?:flagged|blocked)|(?:blocked|flagged) (?:by|due to|for) /i;
const FILTER_CODES = /^(?:.*\s)?(?:safety|spii|recitation|moderation\w*|refusal)(?:\s.*)?$/i;
const GUARDRAIL = /guardrail/i;
const HAS_ACTED = /violat|block|interven/i;

/** True for an error of a content filter: nothing is wrong with the configuration. */
export function isFilterFault({ said, codes }: Words): boolean {
  const words = `${codes} ${said}`;
  return FILTER.test(words) || FILTER_CODES.test(codes) || (GUARDRAIL.test(words) && HAS_ACTED.test(words));
}

/** Finish reasons with which providers say that their filter or their model ended the answer. */
const FILTER_FINISH =
  /content.?filter|safety|prohibited|blocklist|spii|recitation|guardrail|moderation|refus|violation/i;

/** True for a finish reason of a filter or of a refusal. */
export function isFilterFinish(reason: string): boolean {
  return FILTER_FINISH.test(reason);
}

/** Words of servers that check the model's text themselves (Groq), or whose grammar the text broke (llama.cpp, vLLM). */
const REJECTED_TEXT =
  /json_validate_failed|output_parse_failed|failed to (?:generate|validate) (?:\w+ ){0,2}json|(?:generated|model).{0,20}(?:json|output|text|response).{0,40}(?:not|in)[ -]?(?:match|valid|conform)|empty grammar stack|grammar.{0,40}(?:reject|terminated|accept.{0,10}token)|failed to (?:advance|accept token)|failed to parse input at pos/i;

/** True for an error about the text that the model wrote: as any reply that cannot be used. */
export function isRejectedText({ said, codes, rejected }: Words & Pick<ErrorBody, 'rejected'>): boolean {
  return rejected !== undefined || REJECTED_TEXT.test(`${codes} ${said}`);
}

/** Words about the schema parameter, which no other fault of a server has. */
const SCHEMA_PARAMETER =
  /response_?(?:json_?)?(?:format|schema)|json_?schema|json_?object|structured.?output|json.?mode|guided.?(?:json|decoding|grammar)|xgrammar|parse grammar/i;
/** Words about a schema in a refused request. */
const SCHEMA = /\b(?:json )?schema\b|\bgrammars?\b|constrained decoding|outlines|invalid format/i;

/** True when a server cannot use the schema of a request. LiteLLM answers 500 when its backend cannot. */
export function isSchemaRefusal(said: string, status: number): boolean {
  const isRefusedRequest = status === 400 || status === 422;
  const isServerFault = status === 500 || status === 501;
  return (
    (isRefusedRequest && SCHEMA.test(said)) ||
    ((isRefusedRequest || isServerFault) && SCHEMA_PARAMETER.test(said))
  );
}
