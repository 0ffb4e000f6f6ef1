import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBlocks } from '../../support/documents/quickstarts.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { ExampleProject } from '../../support/processes/example-project.ts';
import { startModelServer, type ModelServer } from '../model-server.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from './python-venv.ts';

/** Most of it is for the first time, when the packages are fetched. */
const TIMEOUT_MS = 20 * 60_000;
/** The packages of the example, with everything that they need. */
const PACKAGES = 'pydantic-ai';

const project = new ExampleProject('python-agent');
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());
afterAll(() => project.dispose());

function readLines(file: string | URL): string[] {
  return readFileSync(file, 'utf8').trim().split('\n');
}

/** The variables that a README exports with a value, but for the key. */
function readExports(page: string): Record<string, string> {
  const text = readBlocks(page, 'sh').join('\n');
  const lines = text.matchAll(/^export (\w+)=([^\s…]+)/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

it(
  'the example of a Python agent is read and scored by code, as its README shows',
  { timeout: TIMEOUT_MS },
  async ({ skip }) => {
    const venv = await pythonVenv(PACKAGES);
    if ('missing' in venv) {
      skip(tellNotProved('the example of a Python agent', venv.missing));
      return;
    }
    const { otlpHttp } = await project.startServe('spanscore.config.yaml');
    const [ask, scores] = project.shownCommands();
    const variables = {
      ...readExports(readFileSync(join(project.folder, 'README.md'), 'utf8')),
      PATH: `${dirname(venv.python)}:${process.env['PATH'] ?? ''}`,
      PYTHONUTF8: '1',
      PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE,
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: model.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: otlpHttp,
    };

    expect(await project.run(ask?.command ?? '', variables)).toEqual(ask?.output);

    const { printed, shown } = await project.runUntilShown(scores ?? { command: '', output: [] });
    expect(printed).toEqual(shown);
  },
);

it('the example of a Python agent asks for packages in the versions that the tests run it with', () => {
  const tested = readLines(new URL(`requirements/${PACKAGES}.txt`, import.meta.url));
  const wanted = readLines(join(project.folder, 'requirements.txt')).map((line) =>
    line.replace(/\[.*\]/, ''),
  );

  expect(wanted.length).toBeGreaterThan(2);
  expect(wanted.filter((line) => !tested.includes(line))).toEqual([]);
});
