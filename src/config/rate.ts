const SECONDS = { s: 1, m: 60, h: 3_600 } as const;

/** Reads a rate like `50/s`, `600/m` or `1000/h` as a number a second; undefined for any other text. */
export function parseRatePerSecond(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?:\/([smh]))?$/.exec(text.trim());
  const rate = Number(match?.[1] ?? 0) / SECONDS[(match?.[2] ?? 's') as keyof typeof SECONDS];
  return rate > 0 ? rate : undefined;
}
