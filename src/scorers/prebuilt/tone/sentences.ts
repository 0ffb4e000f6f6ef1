const END = /\p{Sentence_Terminal}/u;

/**
 * Lists the sentences of a text: each a run of other characters and the full stops, exclamation or question marks of any script
 * after it.
 * Text after the last end mark counts only when there is no sentence at all. Works in one pass, because the text is untrusted.
 */
export function listSentences(text: string): string[] {
  const sentences: string[] = [];
  let from = 0;
  while (from < text.length && END.test(text[from] as string)) {
    from += 1;
  }
  for (let at = from; at < text.length; at += 1) {
    const isLastMark = END.test(text[at] as string) && !END.test(text[at + 1] ?? '');
    if (isLastMark) {
      sentences.push(text.slice(from, at + 1));
      from = at + 1;
    }
  }
  return sentences.length === 0 ? [text] : sentences;
}
