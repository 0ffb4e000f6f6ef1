import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type ModelServer, startModelServer } from '../model-server.ts';
import { type PeerAddresses, type PeerResult, runPeer } from '../peer-run.ts';
import { freezeNewest, readAsked } from '../python/freeze.ts';
import { runPythonPeer } from '../python/python-peer.ts';
import { pythonVenv } from '../python/python-venv.ts';
import { cutRequest } from './cut-request.ts';
import { type OtlpRecorder, type ReceivedOtlp, startOtlpRecorder } from './otlp-recorder.ts';
import { RECORDED_PEERS, type RecordedPeer } from './recorded-peers.ts';

/**
 * Records the fixtures in `test/fixtures/spans-thirdparty` with the real emitters. Arguments are the names of recordings; without
 * any, all are made. `--newest` first freezes the newest versions of the packages that are not held at an old one.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { newest: { type: 'boolean', default: false } },
});
const FIXTURES = new URL('../../fixtures/spans-thirdparty/', import.meta.url);
const VERSIONS = new URL('versions.json', FIXTURES);
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const unknown = positionals.filter((name) => !RECORDED_PEERS.some((peer) => peer.name === name));
if (unknown.length > 0) {
  const known = RECORDED_PEERS.map(({ name }) => name).join(', ');
  throw new Error(`no recording is named ${unknown.join(', ')}; the names are ${known}`);
}
const wanted = RECORDED_PEERS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (values.newest) {
  const free = wanted.flatMap((peer) => ('agent' in peer && peer.held !== true ? [peer.packages] : []));
  for (const packages of new Set(free)) {
    await freezeNewest(packages);
  }
}

const home = mkdtempSync(join(tmpdir(), 'spanscore-record-'));
const model = await startModelServer();
const recorder = await startOtlpRecorder();
try {
  for (const peer of wanted) {
    await record(peer, model, recorder);
    process.stdout.write(`recorded ${peer.name}\n`);
  }
} finally {
  await Promise.all([model.close(), recorder.close()]);
  rmSync(home, { recursive: true, force: true });
}

async function record(peer: RecordedPeer, { url }: ModelServer, receiver: OtlpRecorder): Promise<void> {
  const result = await play(peer, { modelUrl: url, otlpHttp: receiver.url });
  const received = receiver.take();
  if ('missing' in result || result.code !== 0 || received.length === 0) {
    const said = 'missing' in result ? result.missing : result.output.slice(-2000);
    throw new Error(`${peer.name} was not recorded: ${said || 'it sent nothing'}`);
  }
  const toJson = 'agent' in peer ? await pythonConverter(peer.packages) : readJson;
  for (const signal of ['traces', 'logs'] as const) {
    const lines = received
      .filter((request) => request.signal === signal)
      .map((request) => JSON.stringify(cutRequest(toJson(request))))
      .filter((line) => line.includes('"traceId"'));
    const file = new URL(`${peer.name}.${signal}.jsonl`, FIXTURES);
    rmSync(file, { force: true });
    if (lines.length > 0) {
      writeFileSync(file, `${lines.join('\n')}\n`);
    }
  }
  noteVersions(peer);
}

function play(peer: RecordedPeer, addresses: PeerAddresses): Promise<PeerResult | { missing: string }> {
  if ('agent' in peer) {
    return runPythonPeer(peer.name, peer, addresses, home);
  }
  const { variables = {} } = peer;
  return runPeer(peer.name, process.execPath, [here(`../js/emitters/${peer.script}`)], addresses, {
    variables,
  });
}

function readJson({ body }: ReceivedOtlp): unknown {
  return JSON.parse(body.toString('utf8'));
}

/** Python's exporters send protobuf, which a Python with OpenTelemetry's own messages decodes. */
async function pythonConverter(packages: string): Promise<(request: ReceivedOtlp) => unknown> {
  const venv = await pythonVenv(packages);
  if ('missing' in venv) {
    throw new Error(venv.missing);
  }
  return (request) => {
    if (request.isJson) {
      return readJson(request);
    }
    const args = [here('../python/otlp_json.py'), request.signal];
    const options = { input: request.body, maxBuffer: 64 << 20, encoding: 'utf8' } as const;
    return JSON.parse(execFileSync(venv.python, args, options));
  };
}

/** Writes the versions of the emitter's own packages, those that the recording depends on. */
function noteVersions(peer: RecordedPeer): void {
  const all = existsSync(VERSIONS)
    ? (JSON.parse(readFileSync(VERSIONS, 'utf8')) as Record<string, Record<string, string>>)
    : {};
  all[peer.name] = 'agent' in peer ? readAsked(peer.packages) : readInstalled(peer.packages);
  const sorted = Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(VERSIONS, `${JSON.stringify(Object.fromEntries(sorted), null, 1)}\n`);
}

function readInstalled(packages: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    packages.map((name) => {
      const manifest = readFileSync(here(`../js/node_modules/${name}/package.json`), 'utf8');
      return [name, (JSON.parse(manifest) as { version: string }).version];
    }),
  );
}
