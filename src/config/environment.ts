/**
 * Reads an environment variable. Returns undefined when it is unset or empty: shells and container tools use an empty
 * variable for "not set". Nothing outside this folder reads `process.env`.
 */
export function readEnvironment(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}

/** Returns a copy of the whole environment, for child processes and for tests with their own environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
