import { readFileSync, writeFileSync } from 'node:fs';
import { compileRequirements, requirementsFile } from './python-venv.ts';

/** Head of a file of requirements: the packages that were asked for, each with a version. */
const ASKED = /^# {3}(\S.*)$/gm;
const NOTE = '# Everything that these need, as uv froze it on Python 3.11:';

/** Returns the versions of the packages that a file of requirements was frozen for. */
export function readAsked(name: string): Record<string, string> {
  const text = readFileSync(requirementsFile(name), 'utf8');
  return Object.fromEntries(listAsked(text).map((asked) => [plainName(asked), versionIn(text, asked)]));
}

/** Freezes the newest versions of the packages that a file of requirements was frozen for. */
export async function freezeNewest(name: string): Promise<void> {
  const file = requirementsFile(name);
  const asked = listAsked(readFileSync(file, 'utf8')).map((one) => one.replace(/==.*$/, ''));
  const frozen = await compileRequirements(asked);
  const heads = asked.map((one) =>
    /[<>~]/.test(one) ? `#   ${one}` : `#   ${one}==${versionIn(frozen, one)}`,
  );
  writeFileSync(file, `${[NOTE, ...heads].join('\n')}\n${frozen}`);
}

function listAsked(text: string): string[] {
  return [...text.matchAll(ASKED)].map(([, asked = '']) => asked);
}

/** Returns the name without extras and version. */
function plainName(asked: string): string {
  return asked.replace(/[[<>=~].*$/, '');
}

function versionIn(frozen: string, asked: string): string {
  const name = plainName(asked);
  const line = frozen.split('\n').find((one) => one.toLowerCase().startsWith(`${name.toLowerCase()}==`));
  if (line === undefined) {
    throw new Error(`the frozen requirements have no ${name}`);
  }
  return line.slice(name.length + 2);
}
