import { join } from 'node:path';
import { emptyFolder } from '../processes/cli.ts';
import { runCommand } from '../processes/run-command.ts';

/** Folders of one test: a store, its backup, and the restored store. */
export function makeFolders() {
  const cwd = emptyFolder();
  const [original, copy, restored] = ['original', 'copy', 'restored'].map((name) => join(cwd, name)) as [
    string,
    string,
    string,
  ];
  const run = (...args: string[]) => runCommand(args, { cwd });
  return {
    original,
    copy,
    restored,
    run,
    backup: (...args: string[]) => run('backup', '--to', copy, '--data-dir', original, ...args),
    restore: (...args: string[]) => run('restore', '--from', copy, '--data-dir', restored, ...args),
  };
}
