import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitForLock } from '../../support/processes/wait-for-lock.ts';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/peers/python/', import.meta.url));
/** Folder of compiled code of every environment and agent: most of an agent's time is compilation of its imports. */
export const PYTHON_CODE_CACHE = join(CACHE, 'pycache');
const REQUIREMENTS = new URL('requirements/', import.meta.url);
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];
const INSTALL_TIMEOUT_MS = 20 * 60_000;
/** Installs an environment in seconds where pip takes minutes, and shares its files with the other environments. */
const UV = 'uv==0.13.9';
/** Messages of pip and uv without any index; any other failure is a fault of ours. */
const OFFLINE =
  /NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|error sending request|dns error|tcp connect error/;

/** Environments of this process, by name: two callers of one share it. */
const venvs = new Map<string, Promise<PythonVenv>>();

/** The Python of an environment with its packages, or why there is none on this machine. */
export type PythonVenv = { readonly python: string } | { readonly missing: string };

/** Recipe of an environment. */
interface Recipe {
  readonly name: string;
  /** Contents that it depends on: a change makes another environment. */
  readonly contents: string;
  readonly venvOptions: readonly string[];
  readonly fill: (python: string) => Promise<unknown>;
}

/**
 * The environment with the packages of `requirements/<name>.txt`: made on first use, kept until the requirements or the
 * Python change. Throws when the index is reached and they still cannot be installed.
 */
export async function pythonVenv(name: string): Promise<PythonVenv> {
  const requirements = requirementsFile(name);
  const uv = await uvVenv();
  return 'missing' in uv
    ? uv
    : shared({
        name,
        contents: readFileSync(requirements, 'utf8'),
        venvOptions: ['--without-pip'],
        fill: (python) => installWithUv(uv.python, requirements, python),
      });
}

/** Path of the frozen requirements of this name. */
export function requirementsFile(name: string): string {
  return fileURLToPath(new URL(`${name}.txt`, REQUIREMENTS));
}

/** Resolves packages to the versions of everything that they need, one `name==version` a line. Needs the index. */
export async function compileRequirements(packages: readonly string[]): Promise<string> {
  const uv = await uvVenv();
  if ('missing' in uv) {
    throw new Error(uv.missing);
  }
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-freeze-'));
  try {
    const [asked, override] = [join(folder, 'asked.in'), join(folder, 'override.txt')];
    writeFileSync(asked, `${packages.join('\n')}\n`);
    // Packages ask for certificates of the last days, which an index that lags does not have.
    writeFileSync(override, 'certifi\n');
    const options = ['--quiet', '--no-header', '--no-annotate', '--python-version', '3.11'];
    const compile = ['-m', 'uv', 'pip', 'compile', asked, '--override', override, ...options];
    const { stdout } = await run(uv.python, compile, { env: uvVariables(), maxBuffer: 16 << 20 });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function uvVenv(): Promise<PythonVenv> {
  return shared({ name: 'uv', contents: UV, venvOptions: [], fill: installUv });
}

function installUv(python: string): Promise<unknown> {
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', UV];
  return run(python, install, { timeout: INSTALL_TIMEOUT_MS });
}

/** The requirements name everything that is needed: what they leave out is left out on purpose. */
function installWithUv(uv: string, requirements: string, python: string): Promise<unknown> {
  const install = ['-m', 'uv', 'pip', 'install', '--quiet', '--no-deps', '--requirement', requirements];
  return run(uv, [...install, '--python', python], {
    timeout: INSTALL_TIMEOUT_MS,
    env: uvVariables(),
  });
}

function uvVariables(): NodeJS.ProcessEnv {
  return { ...settingsOfPip(), ...process.env, UV_CACHE_DIR: join(CACHE, 'uv-cache') };
}

/** Settings of pip as variables of uv: index and certificates. */
function settingsOfPip(): Record<string, string> {
  const { PIP_INDEX_URL: index, PIP_CERT: certificates } = process.env;
  return {
    ...(index === undefined ? {} : { UV_DEFAULT_INDEX: index }),
    ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }),
  };
}

function shared(recipe: Recipe): Promise<PythonVenv> {
  const started = venvs.get(recipe.name) ?? makeVenv(recipe);
  venvs.set(recipe.name, started);
  return started;
}

async function makeVenv({ name, contents, venvOptions, fill }: Recipe): Promise<PythonVenv> {
  const found = await findPython();
  if (found === undefined) {
    return { missing: 'no Python 3.10 to 3.13 with the venv module was found' };
  }
  const digest = createHash('sha256').update(found.version).update(contents).digest('hex');
  const folder = join(CACHE, `${name}-${digest.slice(0, 12)}`);
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
  const complete = join(folder, 'complete');
  // Test files run in processes of their own, and several may need the same environment.
  const lock = await waitForLock(`${folder}.lock`);
  try {
    return existsSync(complete) ? { python } : await fillFolder(found.command);
  } finally {
    lock.release();
  }

  async function fillFolder(command: string): Promise<PythonVenv> {
    rmSync(folder, { recursive: true, force: true });
    await run(command, ['-m', 'venv', ...venvOptions, folder]);
    try {
      await fill(python);
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      if (OFFLINE.test(stdout + stderr)) {
        return { missing: 'the Python package index cannot be reached' };
      }
      throw error;
    }
    writeFileSync(complete, '');
    return { python };
  }
}

async function findPython(): Promise<{ command: string; version: string } | undefined> {
  for (const command of CANDIDATES) {
    const version = await computeVersion(command);
    const [, minor] = /^3\.(\d+)\./.exec(version) ?? [];
    if (Number(minor) >= 10 && Number(minor) <= 13) {
      return { command, version };
    }
  }
  return undefined;
}

/** Empty when there is no such command, or it has no venv module. */
async function computeVersion(command: string): Promise<string> {
  try {
    const code = 'import ensurepip, platform, venv; print(platform.python_version())';
    return (await run(command, ['-c', code])).stdout.trim();
  } catch {
    return '';
  }
}
