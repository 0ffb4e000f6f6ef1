/** Parts of a user message of a prebuilt scorer. */
export interface FencedPrompt {
  /** Code on the marker lines. */
  readonly code: string;
  /** The data, one line of JSON. */
  readonly json: string;
  /** What the author of the scorer wrote after the data. */
  readonly task: string;
}

const FENCED = /^<<<([a-p]{12})\n([^\n]*)\n\1>>>\n([\s\S]+)$/;

/** Reads a user message; undefined when its beginning is not one line of data between two markers of one code. */
export function readFencedPrompt(prompt: string): FencedPrompt | undefined {
  const [, code, json = '', task = ''] = FENCED.exec(prompt) ?? [];
  return code === undefined ? undefined : { code, json, task };
}
