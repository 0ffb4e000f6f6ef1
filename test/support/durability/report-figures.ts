/** Prints the measured figures of a run as one line of JSON, for reports. */
export function reportFigures(name: string, figures: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${name} ${JSON.stringify(figures)}\n`);
}
