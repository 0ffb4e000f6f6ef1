import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findBrokenLinks } from '../support/documents/markdown-links.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Files that `npm pack` would ship; the build is left as it is. */
function shippedPaths(): Set<string> {
  const options = { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options);
  const packed = JSON.parse(output) as Record<string, Package> | Package[];
  return new Set(Object.values(packed).flatMap(({ files }) => files.map(({ path }) => path)));
}

interface Package {
  readonly files: readonly { readonly path: string }[];
}

describe('the package that users install', () => {
  const shipped = shippedPaths();

  it('holds every page, every example and everything for a deployment', () => {
    const wanted = [
      ...globSync('docs/**/*.md', { cwd: root }),
      ...globSync('examples/**/*.*', { cwd: root }),
      ...globSync('deploy/**/*.*', { cwd: root }),
    ];

    expect(wanted.length).toBeGreaterThan(10);
    expect(wanted.filter((path) => !shipped.has(path))).toEqual([]);
  });

  it('holds the target of every relative link', () => {
    expect(findBrokenLinks(root, (path) => shipped.has(path))).toEqual([]);
  });

  it('holds no page that the README and its three doors do not lead to', () => {
    const doors = ['README.md', 'ARCHITECTURE.md', 'docs/try.md', 'docs/trust.md', 'docs/operate.md'];
    const links = doors.map((path) => readFileSync(`${root}${path}`, 'utf8')).join('\n');
    const pages = globSync('docs/**/*.md', { cwd: root });

    expect(pages.filter((path) => !new RegExp(`[(/]${basename(path)}[)#]`).test(links))).toEqual([]);
  });

  it('has no script that npm runs when somebody installs it', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
      scripts: Record<string, string>;
    };
    const atInstall = /^(pre|post)?(install|prepare)$|^prepublish$|^dependencies$/;

    expect(Object.keys(scripts).filter((name) => atInstall.test(name))).toEqual([]);
    expect(existsSync(`${root}binding.gyp`)).toBe(false);
  });
});
