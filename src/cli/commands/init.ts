import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { findConfigFile } from '../../config/files/config-file.ts';
import { InvalidInputError, readErrorMessage, RequestError } from '../../domain/errors.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { initialConfig } from '../initial-config.ts';

const NAME = 'spanscore.config.yaml';

export const registerInit: RegisterCommand = (program, bind) => {
  program
    .command('init')
    .description(`Write a commented ${NAME} and print the variables to set in an agent. Overwrites nothing.`)
    .addHelpText('before', examples(['in this folder', 'spanscore init']))
    .action(bind(init));
};

async function init(context: CommandContext) {
  const { config: chosen } = context.globals;
  if (chosen !== undefined && !/\.ya?ml$/i.test(chosen)) {
    throw new RequestError(`--config ${chosen}: init writes YAML; name a file that ends in .yaml`);
  }
  const path = resolve(context.cwd, chosen ?? NAME);
  const existing = chosen === undefined ? findConfigFile(context.cwd) : findFile(path);
  if (existing !== undefined) {
    throw new InvalidInputError(
      `${existing} exists already and was not changed; to check it: npx spanscore check-config`,
    );
  }
  await writeNew(path, initialConfig(schemaIn(context.cwd)));
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  };
  await context.out.document({ file: path, variables }, () =>
    [
      `wrote ${path}`,
      '',
      'Set these two variables in the environment of your agent:',
      ...Object.entries(variables).map(([name, value]) => `  export ${name}=${value}`),
      '',
      `Then start: npx spanscore serve${chosen === undefined ? '' : ` --config ${chosen}`}`,
    ].join('\n'),
  );
  return EXIT.done;
}

function findFile(path: string): string | undefined {
  return existsSync(path) ? path : undefined;
}

/**
 * Returns the path of the JSON Schema in an installed package, as the file names it; undefined when the package is not
 * installed in the folder.
 */
function schemaIn(folder: string): string | undefined {
  const schema = './node_modules/spanscore/schemas/json/config.schema.json';
  return existsSync(resolve(folder, schema)) ? schema : undefined;
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (cause) {
    throw new InvalidInputError(`${path} cannot be written: ${readErrorMessage(cause)}`, { path }, cause);
  }
}
