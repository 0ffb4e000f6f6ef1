/** Writes a number with its noun: `1 trace`, `21 traces`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Writes an estimated number with its noun: `about 21 traces`, `less than 1 trace`, `0 traces`. */
export function formatAbout(count: number, one: string, many = `${one}s`): string {
  if (count === 0) {
    return formatCount(count, one, many);
  }
  return count < 1 ? `less than 1 ${one}` : `about ${formatCount(Math.round(count), one, many)}`;
}

/** Writes a part of a number with its noun: `2 of 3 claims`, `0 of 1 claim`. */
export function formatPart(part: number, count: number, one: string, many = `${one}s`): string {
  return `${part} of ${formatCount(count, one, many)}`;
}

/** Writes all of a number with its noun: `all 3 claims`, `the only claim`. */
export function formatAll(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? `the only ${one}` : `all ${count} ${many}`;
}

/** Writes the beginning of a sentence about all of a number: `All 3 steps were`, `The only step was`. */
export function allBegin(count: number, one: string, [singular, plural]: readonly [string, string]): string {
  return count === 1 ? `The only ${one} ${singular}` : `All ${count} ${one}s ${plural}`;
}
