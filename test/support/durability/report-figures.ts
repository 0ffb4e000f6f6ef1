/** Prints what a run measured, as one line of JSON: the figures that a report quotes. */
export function reportFigures(name: string, figures: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${name} ${JSON.stringify(figures)}\n`);
}
