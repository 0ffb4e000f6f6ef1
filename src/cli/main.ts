#!/usr/bin/env node
import { refuseNode } from './node-version.ts';

// Nothing else is imported before the version is known: an old Node.js fails on the first file that it cannot read.
const refusal = refuseNode(process.version);
if (refusal === undefined) {
  void import('./run-process.ts');
} else {
  process.stderr.write(`${refusal}\n`);
  process.exitCode = 1;
}
