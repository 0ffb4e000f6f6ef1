import { listCauses } from '../domain/errors.ts';
import type { JudgeError } from './judge-error.ts';

/** Words of servers that refuse a question because it is too long for the model. */
const REFUSALS = [
  /context_length_exceeded|exceed_context_size|context ?window ?exceeded/i,
  /maximum (?:context|prompt|input) (?:length|window|size)/i,
  /exceed\w*[^.]{0,60}context (?:length|limit|size|window)/i,
  /context (?:length|limit|size|window)[^.]{0,60}(?:exceed|too (?:small|long))/i,
  /longer than the model's context/i,
  /context the overflows|loaded with context length/i,
  /prompt is too long|input is too long|too many tokens/i,
  /input (?:token count|length)[^.]{0,80}exceed/i,
  /reduce the length of the (?:messages|prompt|input)/i,
  /tokens \+ `?max_(?:new_)?tokens`? must be <=/i,
  /range of input length should be/i,
];

/** Places of the window in these words. */
const SIZES = [
  /"?n_ctx\\?"?\s*[:=]\s*(\d+)/i,
  /(\d+) maximum context length/i,
  /maximum (?:context|prompt|input) (?:length|window|size)[^.\d]{0,40}(\d+)/i,
  /tokens allowed \(?(\d+)/i,
  /exceeds? (?:the )?context limit: [\d\s+]+ > (\d+)/i,
  /tokens > (\d+) maximum/i,
  /context (?:length|limit|size|window)[^.\d]{0,30}(\d+)/i,
  /must be <= ?(\d+)/i,
  /exceeds (?:the )?limit of (\d+)/i,
  /input length should be \[\d+, ?(\d+)\]/i,
];

/** Sizes that a window can have. */
const LEAST_TOKENS = 256;

/** True for an error with which a server refuses a question because it is too long for the model. */
export function isWindowRefusal(error: JudgeError): boolean {
  const { status } = error.details;
  const said = readWords(error);
  return (
    typeof status === 'number' &&
    status >= 400 &&
    status !== 429 &&
    REFUSALS.some((refusal) => refusal.test(said))
  );
}

/** Reads the size of the window from the words of a refusal. */
export function readRefusedWindow(error: JudgeError): number | undefined {
  const said = readWords(error).replaceAll(/(?<=\d)[,_](?=\d{3})/g, '');
  const sizes = SIZES.map((size) => Number(size.exec(said)?.[1]));
  return sizes.find((size) => size >= LEAST_TOKENS);
}

/** Reads all that the server said; the error itself has a short quote. */
function readWords(error: JudgeError): string {
  const bodies = listCauses(error).map((cause) => (cause as { responseBody?: unknown }).responseBody);
  return [error.message, error.details['body'], ...bodies]
    .filter((text) => typeof text === 'string')
    .join('\n');
}
