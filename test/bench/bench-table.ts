/** A figure held against its goal. */
export interface Goal {
  /** As the table shows it: `≤ 50 %`. */
  readonly text: string;
  readonly isMet: boolean;
}

let met = 0;
const missed: string[] = [];

/** A figure that must not be above a bound, in the unit of both. */
export function atMost(value: number, bound: number, unit: string): Goal {
  return { text: `≤ ${bound} ${unit}`, isMet: value <= bound };
}

/** A figure that must not be below a bound, in the unit of both. */
export function atLeast(value: number, bound: number, unit: string): Goal {
  return { text: `≥ ${bound} ${unit}`, isMet: value >= bound };
}

/** One cell for all goals of a line; '–' where there is none. The line's name is kept for the sum at the end. */
export function verdictOn(name: string, goals: readonly Goal[]): string {
  const failed = goals.filter((goal) => !goal.isMet);
  met += goals.length - failed.length;
  missed.push(...failed.map((goal) => `${name} ${goal.text}`));
  const told = failed.map((goal) => goal.text).join(', ');
  return goals.length === 0 ? '–' : failed.length === 0 ? 'met' : `**missed** ${told}`;
}

/** A table's title and its columns. */
export function head(title: string, ...columns: readonly string[]): void {
  console.log(`\n## ${title}\n`);
  row(...columns);
  row(...columns.map(() => '---'));
}

/** A line of a table. */
export function row(...cells: readonly (string | number)[]): void {
  console.log(`| ${cells.map((cell) => (typeof cell === 'number' ? shown(cell) : cell)).join(' | ')} |`);
}

/** Three digits, more or less. */
export function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3);
}

/** `12.3 %` of the second. */
export function share(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(part * 10 < whole ? 1 : 0)} %`;
}

/** Prints the number of goals met, and the goals missed. */
export function sumUp(): void {
  const all = met + missed.length;
  console.log(`\n${met} of ${all} goals met${missed.length === 0 ? '.' : `; missed: ${missed.join('; ')}.`}`);
}
