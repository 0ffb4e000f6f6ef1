import { stripTypeScriptTypes } from 'node:module';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import * as evals from '../../../../src/evals/index.ts';
import * as legacy from '../../../../src/scorers/legacy/index.ts';
import * as scorers from '../../../../src/scorers/index.ts';
import { scriptedModel } from '../../fakes/scripted-model.ts';
import type { LibraryPage } from './library-pages.ts';
import { EXAMPLE_JUDGE } from './scorer-page.ts';

/** Runs an example from the page and returns the shown fields. `run` creates the run for an example that scores one. */
export async function runLibraryExample(
  { code, shows, replies }: LibraryPage,
  run: string,
): Promise<unknown[]> {
  const source = stripTypeScriptTypes(code.replaceAll(/^import .*;$/gm, '')).replaceAll(
    EXAMPLE_JUDGE,
    'model',
  );
  const model = scriptedModel(replies);
  const script = `(async () => { ${run}\n${source}\nreturn [${shows.join(', ')}]; })()`;
  const shown = (await runInNewContext(script, { ...evals, ...legacy, ...scorers, z, model })) as unknown[];
  if (model.calls.length !== replies.length) {
    throw new Error(`the example asked ${model.calls.length} questions, not ${replies.length}`);
  }
  return shown;
}

/** Returns a section of the page. */
export async function librarySection(page: LibraryPage, run: string): Promise<string> {
  const shown = await runLibraryExample(page, run);
  const lines = page.shows.map((name, index) => `// ${name}: ${JSON.stringify(shown[index])}`);
  return `## ${page.title}

${page.text}

\`\`\`ts
${page.code}
${lines.join('\n')}
\`\`\`
`;
}
