/** Text that YAML reads as itself without quotes. */
const PLAIN = /^[A-Za-z_/.][\w./-]*( [\w./-]+)*$/u;

/** Words that YAML does not read as texts. */
const WORDS = /^(true|false|null|yes|no|on|off|~)$/iu;

/** Writes a JSON value as YAML for people. */
export function writeYaml(value: unknown): string {
  return writeLines(value).join('\n');
}

function writeLines(value: unknown): string[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((each) => {
      const [first = '', ...others] = writeLines(each);
      return [`- ${first}`, ...others.map((line) => `  ${line}`)];
    });
  }
  const entries = isObject(value) ? Object.entries(value).filter(([, each]) => each !== undefined) : [];
  if (entries.length > 0) {
    return entries.flatMap(([key, each]) => {
      const name = writeScalar(key);
      return isBlock(each)
        ? [`${name}:`, ...writeLines(each).map((line) => `  ${line}`)]
        : [`${name}: ${writeLines(each)[0] ?? ''}`];
    });
  }
  return [writeScalar(value)];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBlock(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function writeScalar(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) && !WORDS.test(value)
    ? value
    : JSON.stringify(value ?? null);
}
