/**
 * The value of an environment variable, or undefined when it is unset or empty: an empty variable is how shells and
 * container tools say "not set". Besides this folder nothing reads `process.env`.
 */
export function readEnvironment(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}

/** A copy of the whole environment, for child processes and for tests that hand in their own. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}
