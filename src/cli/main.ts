#!/usr/bin/env node
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { refuseNode } from './node-version.ts';

/** Keeps compiled modules for the next start. Not in the folder of the system for temporary files: others write there. */
function keepCompiledModules(): void {
  try {
    module.enableCompileCache(join(homedir(), '.cache', 'spanscore'));
  } catch {
    // The user of a container has no home.
  }
}

// The version is checked before other imports: an old Node.js fails on the first file that it cannot parse.
const refusal = refuseNode(process.version);
if (refusal === undefined) {
  keepCompiledModules();
  void import('./run-process.ts');
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
