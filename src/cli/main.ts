#!/usr/bin/env node
import { refuseNode } from './node-version.ts';

// The version is checked before other imports: an old Node.js fails on the first file that it cannot parse.
const refusal = refuseNode(process.version);
if (refusal === undefined) {
  void import('./run-process.ts');
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
