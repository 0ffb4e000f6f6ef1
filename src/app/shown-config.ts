import { isSecretPath } from '../config/index.ts';
import { listLeaves, withValueAt, type KeyPath } from '../config/key-path.ts';
import { REDACTED, redactFields, redactText } from '../telemetry/redact-fields.ts';
import { configJsonSchema, type Config } from './config/index.ts';

/** Returns a configuration without its secrets: those of its schema, of a secret's name, and of a secret's shape. */
export function withoutSecrets(config: Config): Record<string, unknown> {
  const shown = listLeaves(config).reduce<unknown>(
    (whole, { path, value }) => withValueAt(whole, path, shownValue(path, value)),
    config,
  ) as Config;
  const scorers = Object.entries(shown.scorers).map(([name, scorer]) => [name, withoutSecretOptions(scorer)]);
  return { ...shown, scorers: Object.fromEntries(scorers) as Record<string, unknown> };
}

/** Returns the value at a path of the configuration, or a mark in the place of a secret. */
export function shownValue(path: KeyPath, value: unknown): unknown {
  if (isSecretPath(path, configJsonSchema())) {
    return value === '' ? '' : REDACTED;
  }
  return typeof value === 'string' ? redactText(value) : value;
}

/** The schema does not know the options of a scorer. */
function withoutSecretOptions({ options, ...rest }: Config['scorers'][string]) {
  return options === undefined ? rest : { ...rest, options: redactFields(options) };
}
