/** Marks behind which a model's answer begins; each ends its thoughts. The opening mark may stand in the prompt of a template. */
const ENDS_OF_THOUGHTS =
  /<\/(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[\/THINK\]|◁\/think▷|<\|(?:end_of_thought|END_THINKING)\|>/gi;
const BEGIN_OF_THOUGHTS =
  /^\s*(?:<(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>)/i;

/** Begin of the answer of gpt-oss; servers that drop its special tokens leave the words of them. */
const FINAL_CHANNEL = /<\|channel\|>\s*final\b[^{[]{0,60}?<\|message\|>|^\s*analysis[\s\S]*?assistantfinal/gi;
const OTHER_CHANNEL = /<\|channel\|>\s*(?:analysis|commentary)\b/i;

/** Special tokens around an answer that a server left in its text. */
const SPECIAL_TOKENS =
  /^\s*<\|START_RESPONSE\|>|(?:<\|(?:end|return|im_end|eot_id|endoftext|END_RESPONSE)\|>|<\/s>)\s*$/gi;

/**
 * Removes a model's thoughts from its reply; they may contain drafts of the answer. All up to the last closing mark is thought.
 * Thoughts that do not end leave an empty answer.
 */
export function withoutThoughts(reply: string): string {
  const final = cutUpTo(reply, FINAL_CHANNEL);
  if (final === undefined && OTHER_CHANNEL.test(reply)) {
    return '';
  }
  const said = final ?? reply;
  const answer = cutUpTo(said, ENDS_OF_THOUGHTS) ?? said;
  return BEGIN_OF_THOUGHTS.test(answer) ? '' : answer.replaceAll(SPECIAL_TOKENS, '').trim();
}

/** Returns what follows the last match; undefined without a match. */
function cutUpTo(text: string, mark: RegExp): string | undefined {
  const last = [...text.matchAll(mark)].at(-1);
  return last === undefined ? undefined : text.slice(last.index + last[0].length);
}
