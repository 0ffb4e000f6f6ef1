import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tellNotProved } from '../../support/not-proved.ts';
import { jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import {
  comparableLines,
  readQuickstarts,
  readShownCommands,
  type Quickstart,
} from '../../support/documents/quickstarts.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { JS_PACKAGES, noJsPackages } from '../js/js-packages.ts';
import { startModelServer, type ModelServer } from '../model-server.ts';
import { runPeer } from '../peer-run.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from '../python/python-venv.ts';

/** Most of it is for the first time, when Python packages are fetched. */
const TIMEOUT_MS = 20 * 60_000;
const AGENT_TIMEOUT_MS = 300_000;
type Command = { readonly command: string } | { readonly missing: string };

/** The interpreter with the packages of a quickstart, or the reason why this machine has none. */
async function findInterpreter({ name, language }: Quickstart): Promise<Command> {
  if (language === 'js') {
    return noJsPackages === undefined ? { command: process.execPath } : { missing: noJsPackages };
  }
  const venv = await pythonVenv(name);
  return 'missing' in venv ? venv : { command: venv.python };
}

/** A folder as a user has it: the program, and the packages beside it. */
function createUserFolder({ programFile, language }: Quickstart): string {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-quickstart-'));
  copyFileSync(programFile, join(folder, basename(programFile)));
  if (language === 'js') {
    symlinkSync(JS_PACKAGES, join(folder, 'node_modules'));
  }
  return folder;
}

describe('the program of a quickstart, run against a serve with the default rule', () => {
  const folder = new ServeFolder();
  let model: ModelServer;
  let otlpHttp: string;
  const seen = new Set<string>();

  beforeAll(async () => {
    model = await startModelServer();
    ({ otlpHttp } = await folder.start());
  });

  afterAll(async () => {
    await folder.dispose();
    await model.close();
  });

  /** Waits for the one trace that was not there before. */
  async function waitForTrace(): Promise<string> {
    const findNew = async () => {
      const { stdout } = await runCommand(['traces', '--json'], { cwd: folder.path });
      return (jsonLines(stdout) as { traceId: string }[])
        .map(({ traceId }) => traceId)
        .filter((traceId) => !seen.has(traceId));
    };
    await expect.poll(findNew).toHaveLength(1);
    const [traceId = ''] = await findNew();
    seen.add(traceId);
    return traceId;
  }

  /** The lines that `spanscore` prints, as they stand in a page. */
  async function readOutput(args: readonly string[]): Promise<string[]> {
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return stdout.trimEnd().split('\n');
  }

  it.for(readQuickstarts())(
    '$name is read and scored as its page shows',
    { timeout: TIMEOUT_MS },
    async (quickstart, { skip }) => {
      const interpreter = await findInterpreter(quickstart);
      if ('missing' in interpreter) {
        skip(tellNotProved(`the quickstart ${quickstart.name}`, interpreter.missing));
        return;
      }
      const userFolder = createUserFolder(quickstart);
      const program = join(userFolder, basename(quickstart.programFile));
      const variables = {
        HOME: userFolder,
        PYTHONUTF8: '1',
        PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE,
        OPENAI_API_KEY: 'none',
        OPENAI_BASE_URL: model.url,
      };
      const addresses = { modelUrl: model.url, otlpHttp };
      const [shownRun, shownScores, shownReading] = readShownCommands(quickstart.page);

      const { code, output } = await runPeer('weather', interpreter.command, [program], addresses, {
        variables,
        timeoutMs: AGENT_TIMEOUT_MS,
      });
      rmSync(userFolder, { recursive: true, force: true });
      expect({ code, output }).toEqual({ code: 0, output: `${shownRun?.output.join('\n')}\n` });

      const traceId = await waitForTrace();
      const count = shownScores?.output.length ?? 0;
      await expect.poll(() => readOutput(['scores', '--trace', traceId])).toHaveLength(count);
      const scores = await readOutput(['scores', '--trace', traceId]);
      expect(comparableLines(scores)).toEqual(comparableLines(shownScores?.output ?? []));

      const reading = await readOutput(['inspect', traceId]);
      expect(comparableLines(reading)).toEqual(comparableLines(shownReading?.output ?? []));
    },
  );
});
