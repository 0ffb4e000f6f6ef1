#!/usr/bin/env node
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { refuseNode } from './node-version.ts';

// The version is checked before other imports: an old Node.js fails on the first file that it cannot parse.
const refusal = refuseNode(process.version);
if (refusal === undefined) {
  // Compiled modules, so that the next start need not compile them. Not in the folder of the system for temporary files: others write there.
  module.enableCompileCache(join(homedir(), '.cache', 'spanscore'));
  void import('./run-process.ts');
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
