import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);

/** Page of `docs/quickstarts`, and the program that it shows. */
export interface Quickstart {
  /** Name of the page, of the program's folder, and of the requirements for Python. */
  readonly name: string;
  readonly page: string;
  readonly language: 'js' | 'python';
  readonly program: string;
  readonly programFile: string;
}

/** Command that a page shows, and its output lines. */
export interface ShownCommand {
  readonly command: string;
  readonly output: readonly string[];
}

export function readQuickstarts(): Quickstart[] {
  return readdirSync(new URL('docs/quickstarts/', root)).map((file) => {
    const name = file.replace(/\.md$/, '');
    const folder = new URL(`examples/quickstarts/${name}/`, root);
    const [programName = ''] = readdirSync(folder);
    const programFile = new URL(programName, folder);
    return {
      name,
      page: readFileSync(new URL(`docs/quickstarts/${file}`, root), 'utf8'),
      language: programName.endsWith('.py') ? 'python' : 'js',
      program: readFileSync(programFile, 'utf8'),
      programFile: fileURLToPath(programFile),
    };
  });
}

/** Reads the fenced blocks of a language on a page. Blocks in a list lose their indentation. */
export function readBlocks(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^\\1\`\`\``, 'gms'));
  return [...blocks].map(([, indentation = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indentation}`, 'gm'), ''),
  );
}

/** Reads the commands of the `console` blocks: a line that begins with `$`, and the output lines below it. */
export function readShownCommands(page: string): ShownCommand[] {
  return readBlocks(page, 'console').map((block) => {
    const [command = '', ...output] = block.trimEnd().split('\n');
    return { command: command.replace(/^\$ /, ''), output };
  });
}

/** Replaces ids, times and durations, which differ in each run. Also sorts scores of the same moment, whose order differs. */
export function comparableLines(lines: readonly string[]): string[] {
  return lines
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
        .replaceAll(/\b[0-9a-f]{32}\b/g, '<trace>')
        .replaceAll(/\b[\d.]+ m?s\b|(?<=behaviour-duration )[\d.]+/g, '<duration>'),
    )
    .toSorted();
}
