import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** Finds the broken relative links of the Markdown files below a folder: `README.md: docs/none.md`. */
export function findBrokenLinks(folder: string, isShipped: (path: string) => boolean = () => true): string[] {
  const pages = globSync('**/*.md', { cwd: folder, exclude: ['node_modules/**', '**/node_modules/**'] });
  return pages.filter(isShipped).flatMap((page) =>
    readRelativeLinks(readFileSync(join(folder, page), 'utf8'))
      .filter((link) => !isResolved(folder, page, link, isShipped))
      .map((link) => `${page}: ${link}`),
  );
}

/** Returns true where a link like `docs/operations.md#upgrades` leads to a heading of a page below the folder. */
export function leadsToHeading(folder: string, link: string): boolean {
  return link.includes('#') && isResolved(folder, '.', link, () => true);
}

/** Reads the targets of relative links. Links in code are not read. */
function readRelativeLinks(text: string): string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function isResolved(
  folder: string,
  page: string,
  link: string,
  isShipped: (path: string) => boolean,
): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(folder, target)) || !isShipped(target)) {
    return false;
  }
  return anchor === undefined || readAnchors(readFileSync(join(folder, target), 'utf8')).includes(anchor);
}

/** Reads the anchors that the usual renderers create for headings. */
function readAnchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
