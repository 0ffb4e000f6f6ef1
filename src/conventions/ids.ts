const NO_IDS: ReadonlySet<string> = new Set(['', 'null', 'None', 'undefined']);

/** True for an id. Emitters write a missing id as the text of their language's empty value. */
export function isId(text: string): boolean {
  return !NO_IDS.has(text);
}
