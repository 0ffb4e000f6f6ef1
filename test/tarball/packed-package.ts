import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { waitForLock } from '../support/processes/wait-for-lock.ts';

const run = promisify(execFile);
const checkout = fileURLToPath(new URL('../../', import.meta.url));

/** Packs the package as the image does, once for all files of a test run. Returns the path of the packed file. */
export async function packPackage(): Promise<string> {
  const folder = join(process.env['TEST_ENGINES'] ?? '', 'package');
  const lock = await waitForLock(`${folder}.lock`);
  try {
    const packed = () => globSync(join(folder, 'spanscore-*.tgz'));
    if (packed().length === 0) {
      const context = join(folder, 'build');
      rmSync(context, { recursive: true, force: true });
      copyContext(context);
      await run('npm', ['pack', '--pack-destination', folder], { cwd: context });
    }
    return packed()[0] ?? '';
  } finally {
    lock.release();
  }
}

/** Copies what `COPY . .` copies: the checkout without what the dockerignore names. */
function copyContext(target: string): void {
  const ignored = readFileSync(join(checkout, 'deploy/docker/Dockerfile.dockerignore'), 'utf8');
  const names = new Set(ignored.split('\n').map((line) => line.replace('**/', '')));
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: checkout,
    encoding: 'utf8',
  });
  for (const file of files.split('\n')) {
    if (file !== '' && existsSync(join(checkout, file)) && !file.split('/').some((part) => names.has(part))) {
      mkdirSync(join(target, dirname(file)), { recursive: true });
      cpSync(join(checkout, file), join(target, file));
    }
  }
  // Stands for the `npm ci` of the stage `package`, from the same lockfile.
  symlinkSync(join(checkout, 'node_modules'), join(target, 'node_modules'));
}
