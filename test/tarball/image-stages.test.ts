import { execFile, execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { AgentTraceBuilder } from '../support/builders/agent-trace.ts';
import { tellNotProved } from '../support/not-proved.ts';
import { freePorts } from '../support/processes/free-ports.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { testEngine, type TestEngine } from '../support/store/engine.ts';
import { until } from '../support/until.ts';
import { packPackage } from './packed-package.ts';

// The stages of deploy/docker/Dockerfile with plain tools, where no container engine runs: the same commands in the same order,
// then the program in a root of its own that nobody can write to, as the user of the image.

const run = promisify(execFile);
const checkout = fileURLToPath(new URL('../../', import.meta.url));
const dockerfile = readFileSync(join(checkout, 'deploy/docker/Dockerfile'), 'utf8');
const READ_TOKEN = 'a-token-for-the-probes';
const INGEST_TOKEN = 'a-token-of-the-agents';
const USER = Number(/^USER (\d+):\1$/m.exec(dockerfile)?.[1]);

type Stage = 'slim' | 'full';
const STAGES: readonly Stage[] = ['slim', 'full'];

/** Makes the root of a container from `$1`, with the volumes `$2` and `$3` and the Node.js `$4`, and becomes the user `$5` in it. */
const ENTER_ROOT = `set -eu
root=$1 data=$2 backups=$3 node=$4 user=$5; shift 5
mount --bind "$root" "$root"
mount --bind /usr "$root/usr" && mount -o remount,bind,ro "$root/usr"
mount --bind "$node" "$root/opt/node"
mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount --bind "$backups" "$root/backups"
mount -o remount,bind,ro "$root"
cd /
exec chroot "$root" /usr/bin/setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set=-all /opt/node "$@"`;

/** Values of `ENV` in the Dockerfile. */
const IMAGE_ENVIRONMENT = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV| ) (\w+)=(\S+)/gm)].map(([, name = '', value = '']) => [name, value]),
);

/** Arguments of a list of the Dockerfile, like `ENTRYPOINT ["node", "main.js"]`, without `node`. */
function readArguments(instruction: string): string[] {
  const list = new RegExp(`^ *${instruction} (\\[.*\\])$`, 'm').exec(dockerfile)?.[1];
  return (JSON.parse(list ?? '[]') as string[]).filter((argument) => argument !== 'node');
}

/** The command that makes folders for the user of the image: `install -d -o 10001 … /data /backups`. */
const [, INSTALL_FOLDERS = '', FOLDERS = ''] =
  /(install -d(?: -\w \w+)+)((?: \/\w+)+)$/m.exec(dockerfile) ?? [];

/** The command with which a stage installs its packages. */
function readInstallation(stage: Stage): string {
  const section = dockerfile.split(/^FROM /m).find((text) => text.includes(`AS ${stage}-modules\n`));
  return /^RUN (npm ci .*)$/m.exec(section ?? '')?.[1] ?? '';
}

function canEnterRoot(): boolean {
  const isPossible = process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;
  if (!isPossible) {
    tellNotProved(
      'the stages of the image',
      'only root of Linux can mount; run as root with the right to mount',
      { isInstallable: false },
    );
  }
  return isPossible;
}

let scratch: string;
const appOf = (stage: Stage) => join(scratch, stage, 'app');

async function buildStages(): Promise<void> {
  const tarball = await packPackage();
  for (const stage of STAGES) {
    const app = appOf(stage);
    mkdirSync(app, { recursive: true });
    await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', app]);
    cpSync(join(checkout, 'package-lock.json'), join(app, 'package-lock.json'));
    await run('sh', ['-c', readInstallation(stage)], { cwd: app });
    buildRoot(join(scratch, stage));
  }
}

/** Makes the folders that a container's root has. */
function buildRoot(root: string): void {
  for (const folder of ['usr', 'opt', 'proc', 'dev', 'tmp', 'etc/spanscore']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  execFileSync('sh', ['-c', `${INSTALL_FOLDERS}${FOLDERS.replaceAll(' /', ' ./')}`], { cwd: root });
  for (const folder of ['bin', 'lib', 'lib64']) {
    symlinkSync(`usr/${folder}`, join(root, folder));
  }
  writeFileSync(join(root, 'opt/node'), '');
  for (const file of ['hosts', 'nsswitch.conf', 'resolv.conf']) {
    cpSync(join('/etc', file), join(root, 'etc', file));
  }
  chmodSync(root, 0o755);
}

/** A process in the root of a stage. */
interface Contained {
  readonly child: ChildProcess;
  output(): string;
}

describe.skipIf(!canEnterRoot())('the stages of the image', () => {
  let volumes: string[];
  let data: string;
  let backups: string;
  let started: ChildProcess[];
  let ports: { http: number; grpc: number; api: number };

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'spanscore-image-'));
    chmodSync(scratch, 0o755);
    await buildStages();
  });

  afterAll(() => {
    rmSync(scratch, { recursive: true, force: true });
  });

  beforeEach(async () => {
    volumes = [];
    data = makeVolume('data');
    backups = makeVolume('backups');
    started = [];
    const [http = 0, grpc = 0, api = 0] = await freePorts(3);
    ports = { http, grpc, api };
  });

  afterEach(() => {
    for (const child of started) {
      child.kill('SIGKILL');
    }
    for (const volume of volumes) {
      rmSync(volume, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  });

  /** Makes an empty volume. It gets the owner and the rights of the folder of the image at which it is mounted. */
  function makeVolume(folder: 'data' | 'backups'): string {
    const volume = mkdtempSync(join(tmpdir(), `spanscore-image-${folder}-`));
    const { uid, gid, mode } = statSync(join(scratch, 'full', folder));
    chownSync(volume, uid, gid);
    chmodSync(volume, mode);
    volumes.push(volume);
    return volume;
  }

  /** Starts `serve` with a configuration that somebody mounted. */
  function startServe(stage: Stage, store: Record<string, unknown> = {}): Contained {
    const config = {
      store,
      auth: {
        tokens: [
          { name: 'probes', token: READ_TOKEN, scopes: ['read'] },
          { name: 'agents', token: INGEST_TOKEN, scopes: ['ingest'] },
        ],
      },
      readiness: { decisionWait: '500ms', maxWait: '30s' },
    };
    writeFileSync(join(scratch, stage, 'etc/spanscore/spanscore.config.yaml'), stringify(config));
    return enter(stage, [...readArguments('ENTRYPOINT'), 'serve']);
  }

  /** Runs Node.js in the root of a stage, as the user of the image. */
  function enter(stage: Stage, args: readonly string[]): Contained {
    const root = join(scratch, stage);
    const script = ['-m', 'sh', '-c', ENTER_ROOT, 'sh', root, data, backups, process.execPath, String(USER)];
    const child = spawn('unshare', [...script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
        ...IMAGE_ENVIRONMENT,
        SPANSCORE_RECEIVERS_OTLP_HTTP_ENDPOINT: `0.0.0.0:${ports.http}`,
        SPANSCORE_RECEIVERS_OTLP_GRPC_ENDPOINT: `0.0.0.0:${ports.grpc}`,
        SPANSCORE_API_ENDPOINT: `0.0.0.0:${ports.api}`,
      },
    });
    started.push(child);
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    child.stderr.on('data', (text: Buffer) => (output += text.toString()));
    return { child, output: () => output };
  }

  /** Runs the health check of the image until it succeeds. */
  async function waitForHealth(stage: Stage, serve: Contained): Promise<void> {
    const check = readArguments('CMD').map((argument) => argument.replace(':4320', `:${ports.api}`));
    await until(
      async () => serve.child.exitCode !== null || (await endOf(enter(stage, check))) === 0,
      200_000,
      () => serve.output(),
    );
    expect([serve.child.exitCode, serve.output()]).toEqual([null, expect.any(String)]);
  }

  function endOf({ child }: Contained): Promise<number | null> {
    return new Promise((resolve) => {
      if (child.exitCode !== null) {
        resolve(child.exitCode);
      }
      child.once('exit', resolve);
    });
  }

  /** Sends a trace. Returns its id when it was acknowledged. */
  async function sendTrace(): Promise<string | undefined> {
    const trace = new AgentTraceBuilder();
    const reply = await fetch(`http://127.0.0.1:${ports.http}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${INGEST_TOKEN}` },
      body: JSON.stringify(trace.request()),
    }).catch(() => undefined);
    return reply?.ok === true ? trace.traceId : undefined;
  }

  /** Waits until the API of a `serve` has scores of a trace. */
  async function waitForScores(trace: string | undefined, serve: Contained): Promise<void> {
    const count = async () => {
      const reply = await fetch(`http://127.0.0.1:${ports.api}/api/v1/scores?traceId=${trace}`, {
        headers: { authorization: `Bearer ${READ_TOKEN}` },
      });
      return ((await reply.json()) as { items?: unknown[] }).items?.length ?? 0;
    };
    await until(
      async () => (await count()) > 0,
      200_000,
      () => serve.output(),
    );
  }

  /** Sends traces until one is not acknowledged, and SIGTERM after the first ones. Returns the acknowledged ones. */
  async function stopUnderLoad({ child }: Contained): Promise<string[]> {
    const acknowledged: string[] = [];
    const send = async (): Promise<void> => {
      const id = await sendTrace();
      if (id === undefined) {
        return;
      }
      acknowledged.push(id);
      await send();
    };
    const senders = Array.from({ length: 4 }, send);
    await until(() => acknowledged.length >= 20);
    child.kill('SIGTERM');
    await Promise.all(senders);
    return acknowledged;
  }

  it('hold the compiled package and the versions of the lockfile, and nothing to build with', () => {
    for (const stage of STAGES) {
      const app = appOf(stage);
      expect(existsSync(join(app, 'dist/src/cli/main.js'))).toBe(true);
      expect(existsSync(join(app, 'dist/dashboard/index.html'))).toBe(true);
      expect(
        globSync(['src', 'test', 'collector', 'node_modules/{vitest,typescript,vite}'], { cwd: app }),
      ).toEqual([]);
      expect(existsSync(join(app, 'node_modules/chdb'))).toBe(stage === 'full');
      expect(statSync(app).uid).not.toBe(USER);
    }
    const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>;
    };
    expect(/^ARG NODE_VERSION=(.*)$/m.exec(dockerfile)?.[1]).toBe(packages['node_modules/node']?.version);
  });

  it('slim: scores into a ClickHouse server, stops under load, and has stored what it acknowledged', async () => {
    const server: TestEngine = await testEngine();
    try {
      const { url, username, password } = server;
      const address = { url, username, password, database: `image_${Date.now()}` };
      const serve = startServe('slim', address);
      await waitForHealth('slim', serve);

      const acknowledged = await stopUnderLoad(serve);

      expect([await endOf(serve), serve.output()]).toEqual([0, expect.any(String)]);
      const sql = 'SELECT DISTINCT TraceId FROM otel_traces';
      const stored = new Set(
        (await queryRows<{ TraceId: string }>(address, sql)).map(({ TraceId }) => TraceId),
      );
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  it('slim: says that it needs a server, or the full image', async () => {
    const serve = startServe('slim');

    expect(await endOf(serve)).toBe(69);
    expect(serve.output()).toContain('store.url');
  });

  it('full: scores into its own engine, and stops under load', async () => {
    const serve = startServe('full');
    await waitForHealth('full', serve);
    await waitForScores(await sendTrace(), serve);

    await stopUnderLoad(serve);

    expect([await endOf(serve), serve.output()]).toEqual([0, expect.any(String)]);
    expect(statSync(join(data, 'owner.lock')).uid).toBe(USER);
  });

  it('full: backs up beside serve to a second volume, and restores from it into an empty one', async () => {
    const serve = startServe('full');
    await waitForHealth('full', serve);
    const trace = await sendTrace();
    await waitForScores(trace, serve);

    const backup = await runCommand('backup', '--to', '/backups/one');
    const outside = await runCommand('backup', '--to', '/elsewhere/one');
    serve.child.kill('SIGTERM');
    await endOf(serve);
    data = makeVolume('data');
    const restore = await runCommand('restore', '--from', '/backups/one');

    expect(backup).toEqual([0, expect.stringContaining('/backups/one: ')]);
    expect(statSync(join(backups, 'one')).uid).toBe(USER);
    expect(outside).toEqual([1, expect.stringContaining('--to /elsewhere/one cannot be made a folder')]);
    expect(restore).toEqual([0, expect.stringContaining('with all rows of the backup')]);
    const restored = startServe('full');
    await waitForHealth('full', restored);
    await waitForScores(trace, restored);
    restored.child.kill('SIGTERM');
    expect([await endOf(restored), restored.output()]).toEqual([0, expect.any(String)]);
  });

  /** Runs a command as docs/operations.md says it, beside a `serve` or without one. */
  async function runCommand(...args: string[]): Promise<[number | null, string]> {
    const command = enter('full', [...readArguments('ENTRYPOINT'), ...args]);
    return [await endOf(command), command.output()];
  }
});
