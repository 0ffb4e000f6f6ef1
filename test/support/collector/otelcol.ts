import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningProgram, startProgram } from '../processes/running-program.ts';

// The real OpenTelemetry Collector. Its sources and pinned modules are in test/peers/collector/otelcol.

const START_TIMEOUT_MS = 60_000;

/** A running Collector. Its output has one line for each event, with the fields as JSON. A stop flushes its queues first. */
export type Otelcol = RunningProgram;

/**
 * Starts the Collector and waits until it is ready.
 * @param config a configuration, or the path of its file; of several files, the Collector merges the contents
 * @param variables environment variables that the files refer to
 */
export async function startOtelcol(
  binary: string,
  config: Record<string, unknown> | string | readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Otelcol> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-otelcol-'));
  const files = listFiles(config, join(folder, 'config.yaml'));
  return startProgram({
    name: 'the Collector',
    binary,
    args: files.flatMap((file) => ['--config', file]),
    variables,
    folder,
    isReady: (log) => log.includes('Everything is ready'),
    timeoutMs: START_TIMEOUT_MS,
  });
}

/** Returns the paths of a configuration; one that is no path is written to a file of its own. */
function listFiles(
  config: Record<string, unknown> | string | readonly string[],
  ownFile: string,
): readonly string[] {
  if (typeof config === 'string') {
    return [config];
  }
  if (isPathList(config)) {
    return config;
  }
  // Every JSON document is also a YAML document.
  writeFileSync(ownFile, JSON.stringify(config), { mode: 0o600 });
  return [ownFile];
}

function isPathList(config: Record<string, unknown> | readonly string[]): config is readonly string[] {
  return Array.isArray(config);
}
