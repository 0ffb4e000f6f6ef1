/** Quotes the name of a database, table or column for a statement. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll(/[\\`]/g, String.raw`\$&`)}\``;
}
