import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { comparableLines, readShownCommands, type ShownCommand } from '../documents/quickstarts.ts';
import { until } from '../until.ts';
import { runCli, startCli, type RunningCli } from './cli.ts';
import { freePorts } from './free-ports.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const START_WITHIN_MS = 100_000;
const RUN_WITHIN_MS = 300_000;

/** Addresses that a `serve` prints with `--json`. */
export interface ExampleAddresses {
  readonly otlpHttp: string;
  readonly otlpGrpc: string;
  readonly api: string;
}

/** User's project with a copy of `examples`. Runs the commands of an example's README. */
export class ExampleProject {
  readonly #project = mkdtempSync(join(tmpdir(), 'spanscore-example-'));
  readonly folder: string;
  readonly #serves: RunningCli[] = [];

  /** @param name folder of the example below `examples` */
  constructor(name: string) {
    symlinkSync(join(root, 'node_modules'), join(this.#project, 'node_modules'));
    const copy = join(this.#project, 'examples');
    mkdirSync(copy);
    cpSync(join(root, 'examples'), copy, { recursive: true });
    this.folder = join(copy, name);
  }

  /** Returns the commands of the README with their shown output, in order. */
  shownCommands(): ShownCommand[] {
    return readShownCommands(readFileSync(join(this.folder, 'README.md'), 'utf8'));
  }

  /** Starts `serve` with a file of the example, on free ports, and waits until it is ready. */
  async startServe(
    configFile: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<ExampleAddresses> {
    const [http = 0, grpc = 0, api = 0] = await freePorts(3);
    const serve = startCli(['serve', '--config', configFile, '--json'], {
      cwd: this.folder,
      variables: {
        SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT: `127.0.0.1:${http}`,
        SPANSCORE_RECEIVERS_OTLP_GRPC_ENDPOINT: `127.0.0.1:${grpc}`,
        SPANSCORE_API_ENDPOINT: `127.0.0.1:${api}`,
        ...variables,
      },
    });
    this.#serves.push(serve);
    const { child, output } = serve;
    await until(
      () => output.stdout.includes('\n') || child.exitCode !== null,
      START_WITHIN_MS,
      () => output.stderr,
    );
    if (child.exitCode !== null) {
      throw new Error(`serve --config ${configFile} ended with ${child.exitCode}: ${output.stderr}`);
    }
    return JSON.parse(output.stdout) as ExampleAddresses;
  }

  /** Runs one command of the README, with a part of it replaced. Returns its output. */
  async run(
    command: string,
    variables: Readonly<Record<string, string>> = {},
    replaced: Readonly<Record<string, string>> = {},
  ): Promise<string[]> {
    if (command.startsWith('npx spanscore ')) {
      const { code, stdout, stderr } = await runCli(command.split(' ').slice(2), {
        cwd: this.folder,
        variables,
      });
      return splitLines(code === 0 ? stdout : stderr);
    }
    const text = Object.entries(replaced).reduce((left, [from, to]) => left.replaceAll(from, to), command);
    // The command's `node` is the Node.js that runs the tests.
    const path = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
    const { stdout } = await promisify(execFile)('sh', ['-c', text], {
      cwd: this.folder,
      timeout: RUN_WITHIN_MS,
      env: { ...process.env, PATH: path, ...variables },
    });
    return splitLines(stdout);
  }

  /** Runs a command until it prints as many lines as its README shows. Returns both outputs in comparable form. */
  async runUntilShown(
    { command, output }: ShownCommand,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<{ printed: string[]; shown: string[] }> {
    let printed: string[] = [];
    await until(
      async () => {
        printed = await this.run(command, variables);
        return printed.length >= output.length;
      },
      RUN_WITHIN_MS,
      () => `${printed.join('\n')}\n${this.#serves.map((serve) => serve.output.stderr).join('\n')}`,
    );
    return { printed: comparableLines(printed), shown: comparableLines(output) };
  }

  /** Stops every `serve` and removes the project. Returns the exit codes. */
  async dispose(): Promise<(number | null)[]> {
    const codes: (number | null)[] = [];
    for (const { child, ended } of this.#serves.toReversed()) {
      child.kill('SIGTERM');
      codes.push((await ended).code);
    }
    rmSync(this.#project, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    return codes;
  }
}

function splitLines(text: string): string[] {
  return text.trimEnd().split('\n');
}
