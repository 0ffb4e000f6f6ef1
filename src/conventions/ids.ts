const NO_IDS: ReadonlySet<string> = new Set(['', 'null', 'None', 'undefined']);

/** True for an id. Emitters write a missing id as the text of their language's empty value. */
export function isId(text: string): boolean {
  return !NO_IDS.has(text);
}

/** True for the name of a model; some wrappers call every model `unknown`. */
export function isModelName(text: string | undefined): text is string {
  return text !== undefined && isId(text) && text.toLowerCase() !== 'unknown';
}
