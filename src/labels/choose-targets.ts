/** Target with its stratum: the label and the band of its score. */
interface Drawn {
  readonly label: string;
  readonly band: number;
  /** Random number that orders the targets of a stratum. */
  readonly draw: number;
}

/**
 * Chooses targets from all strata in turn: first one of each, then a second one, until there are enough. So rare verdicts get as many
 * labels as frequent ones. Within a turn the draw decides, so that the order does not tell the verdict.
 */
export function chooseTargets<Target extends Drawn>(candidates: readonly Target[], limit: number): Target[] {
  const strata = Map.groupBy(candidates, ({ label, band }) => JSON.stringify([label, band]));
  const turns = [...strata.values()].flatMap((stratum) =>
    stratum.toSorted((a, b) => a.draw - b.draw).map((target, turn) => ({ target, turn })),
  );
  return turns
    .toSorted((a, b) => a.turn - b.turn || a.target.draw - b.target.draw)
    .slice(0, limit)
    .map(({ target }) => target);
}
