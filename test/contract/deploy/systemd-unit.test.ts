import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';

const folder = fileURLToPath(new URL('../../../deploy/systemd/', import.meta.url));
const unit = readFileSync(join(folder, 'spanscore.service'), 'utf8');
/** Exposure from 0 (none) to 10, as `systemd-analyze security` counts it. */
const EXPOSURE_LIMIT = 2;
const MAIN = 'dist/src/cli/main.js';
const page = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');

/** Values of a directive, in their order. */
function directive(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

describe('the unit of systemd', () => {
  it('starts the program of the package as a user without rights', () => {
    const { bin } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      bin: { spanscore: string };
    };

    expect(bin.spanscore).toBe(`./${MAIN}`);
    expect(directive('ExecStart').join()).toContain(`/node_modules/spanscore/${MAIN} serve `);
    expect(directive('User')).toEqual(['spanscore']);
    expect(directive('CapabilityBoundingSet')).toEqual(['']);
  });

  it('reloads the configuration that it starts with', () => {
    expect(directive('ExecReload')).toEqual(
      directive('ExecStart').map((start) => start.replace(' serve ', ' reload ')),
    );
  });

  it('waits longer than the 30 s of a stop, and signals spanscore before its engine', () => {
    expect(Number(directive('TimeoutStopSec')[0])).toBeGreaterThan(30);
    expect(directive('KillMode')).toEqual(['mixed']);
  });

  it('has its user, its variables, its folder and its program in the documented function for commands', () => {
    const command = /spanscore\(\) \{\n(.*?)\n *\}/su.exec(page)?.[1]?.replaceAll(/\s*\\\n\s*/gu, ' ') ?? '';
    const [start = ''] = directive('ExecStart');
    const [program = '', config = ''] = start.split(' serve ');
    const dataDir = `SPANSCORE_STORE_DATA_DIR=${directive('WorkingDirectory').join()}`;

    expect(directive('Environment').join()).toContain(dataDir);
    expect(directive('StateDirectory').map((name) => `/var/lib/${name}`)).toEqual(
      directive('WorkingDirectory'),
    );
    for (const part of [
      ` --uid=${directive('User').join()} --gid=${directive('Group').join()} `,
      ` --property=UMask=${directive('UMask').join()} `,
      ` --property=EnvironmentFile=${directive('EnvironmentFile').join()} `,
      ` --setenv=${dataDir} `,
      ` ${program} ${config} "$@"`,
    ]) {
      expect(command).toContain(part);
    }
  });

  it('does not start again what a person has to correct', () => {
    expect(directive('RestartPreventExitStatus')).toEqual([`${EXIT.usage} ${EXIT.config}`]);
  });
});

const hasTools = hasProgram('systemd-analyze', 'the unit of systemd', 'apt-get install systemd');

describe.skipIf(!hasTools)('systemd', () => {
  let scratch: string;
  let file: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'spanscore-unit-'));
    file = join(scratch, 'spanscore.service');
    // `verify` asks whether the program exists on this machine.
    writeFileSync(file, unit.replaceAll('/usr/bin/node', process.execPath));
  });

  afterEach(() => {
    rmSync(scratch, { recursive: true });
  });

  it('understands each directive', () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([0, '']);
  });

  it('complains of a directive that it does not know', () => {
    writeFileSync(file, unit.replace('ProtectHome=', 'ProtectHouse='));

    expect(spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' }).stderr).toContain(
      'ProtectHouse',
    );
  });

  it('counts little exposure', () => {
    const args = ['security', '--offline=true', `--threshold=${EXPOSURE_LIMIT * 10}`, '--no-pager', file];
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });

    expect([status, stdout.split('\n').at(-2)]).toEqual([
      0,
      expect.stringContaining('Overall exposure level'),
    ]);
  });

  /** Makes the users of a file in a folder that stands for the root of a machine. */
  function makeUsers(text: string): { status: number | null; stderr: string } {
    const sources = join(scratch, 'etc', 'sysusers.d');
    mkdirSync(sources, { recursive: true });
    writeFileSync(join(sources, 'spanscore.conf'), text);
    return spawnSync('systemd-sysusers', [`--root=${scratch}`], { encoding: 'utf8' });
  }

  const users = readFileSync(join(folder, 'spanscore.sysusers.conf'), 'utf8');

  it('names a broken line of users', () => {
    // It ends with 0 all the same.
    expect(makeUsers(users.replace('u spanscore', 'user spanscore')).stderr).toContain('spanscore.conf:2');
  });

  it('makes the user of the unit', () => {
    const { status, stderr } = makeUsers(users);

    expect([status, stderr]).toEqual([0, expect.not.stringContaining('spanscore.conf:')]);

    expect(readFileSync(join(scratch, 'etc', 'passwd'), 'utf8')).toMatch(
      /^spanscore:.*:\/var\/lib\/spanscore:\/usr\/sbin\/nologin$/m,
    );
  });
});
