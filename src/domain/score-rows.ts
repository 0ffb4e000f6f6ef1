/**
 * Finds the scorer that wrote the rows of a name: of these scorers, the one with the longest name that the row is named after
 * (`grounding` of `grounding-faithfulness`, `strict` of `strict/grounding-faithfulness`).
 */
export function findRowScorer(row: string, scorers: Iterable<string>): string | undefined {
  return [...scorers]
    .filter((name) => row === name || row.startsWith(`${name}-`) || row.startsWith(`${name}/`))
    .toSorted((a, b) => b.length - a.length)[0];
}
