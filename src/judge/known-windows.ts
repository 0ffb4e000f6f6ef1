/** Window of the models of a family. */
export interface KnownWindow {
  readonly tokens: number;
  /** True where every server of the model has this window. */
  readonly isExact: boolean;
}

/**
 * Windows of well-known hosted models by the beginning of their names, the longer beginning first. Open models are missing: each of
 * their servers sets its own window.
 */
const WINDOWS: readonly (readonly [name: RegExp, tokens: number])[] = [
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4\.1/, 1_047_576],
  [/^(gpt-4o|gpt-4-turbo|chatgpt-4o)/, 128_000],
  [/^gpt-4/, 8192],
  [/^gpt-5/, 272_000],
  [/^o[134]\b/, 200_000],
  [/^claude-/, 200_000],
  [/^gemini-/, 1_048_576],
];

/** Window of an unknown model in the own network, until its server says another one. */
const OWN_TOKENS = 8192;

/** Finds the window of a judge by the name of its model; undefined for an unknown model on the internet. */
export function findAssumedWindow(judge: string, isOwn: boolean): KnownWindow | undefined {
  const model = judge.slice(judge.lastIndexOf('/') + 1);
  const known = WINDOWS.find(([name]) => name.test(model));
  if (known !== undefined) {
    return { tokens: known[1], isExact: true };
  }
  return isOwn ? { tokens: OWN_TOKENS, isExact: false } : undefined;
}
