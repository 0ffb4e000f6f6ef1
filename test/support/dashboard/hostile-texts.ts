/** A text that tries to be markup, a link, an escape of a terminal, or to turn the direction of writing. */
export const EVIL = [
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
  '<svg onload=alert(1)>[click](javascript:alert(1)) **bold**',
  'red \u001B[31m text, back \u202Ewards\u202C, nul \u0000, half \uD83D pair',
].join(' ');

/** The same text with a line of 1 MiB. */
export const LONG_EVIL = EVIL + 'x'.repeat(1024 * 1024);

/** Fields whose texts come from agents, people, models and configurations. */
const FREE_FIELDS: ReadonlySet<string> = new Set([
  'agent',
  'agentVersion',
  'alert',
  'annotations',
  'content',
  'environment',
  'error',
  'errorType',
  'judge',
  'judgeModel',
  'label',
  'labels',
  'left',
  'model',
  'models',
  'name',
  'quote',
  'reason',
  'right',
  'reviewer',
  'rule',
  'rules',
  'scopeName',
  'scorer',
  'scorers',
  'service',
  'serviceName',
  'services',
  'serviceVersion',
  'sessionId',
  'statement',
  'statusMessage',
  'subject',
  'tenant',
  'text',
  'toolName',
  'userId',
  'use',
  'verdict',
  'where',
]);

/** Returns the same replies with a hostile text in every field that may have one. */
export function withHostileTexts<Value>(value: Value): Value {
  return poison(value, false) as Value;
}

function poison(value: unknown, isFree: boolean): unknown {
  if (typeof value === 'string') {
    return isFree ? EVIL : value;
  }
  if (Array.isArray(value)) {
    return value.map((each) => poison(each, isFree));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, poison(each, isFree || FREE_FIELDS.has(name))]),
  );
}
