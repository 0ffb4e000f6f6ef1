import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../router.ts';
import { PAGE_PATHS } from './page-paths.ts';

/** Built dashboard in memory. */
export interface DashboardFiles {
  /** The document of every page. */
  readonly document: string;
  /** Files by name that the document loads. Their names change with their content. */
  readonly assets: ReadonlyMap<string, DashboardAsset>;
}

export interface DashboardAsset {
  readonly contentType: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the built dashboard of a folder. Returns undefined when it was not built. */
export function readDashboardFiles(folder: string): DashboardFiles | undefined {
  const document = readIfThere(join(folder, 'index.html'));
  if (document === undefined) {
    return undefined;
  }
  const assets = readdirSync(join(folder, 'assets')).flatMap((name) => {
    const contentType = CONTENT_TYPES[extname(name)];
    return contentType === undefined
      ? []
      : [
          [
            name,
            { contentType, content: new Uint8Array(readFileSync(join(folder, 'assets', name))) },
          ] as const,
        ];
  });
  return { document, assets: new Map(assets) };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/** A page may load files and ask routes of its own server only, and no text can become markup or a script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const DOCUMENT_HEADERS = { 'content-security-policy': POLICY, 'cache-control': 'no-cache' };

/** The names of assets are hashes of their content. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

const NOT_BUILT = `The dashboard is not built. In a checkout of spanscore, run: npm run build:dashboard
Then start spanscore serve again. The published package has it built.
`;

/**
 * Creates the routes of the dashboard: one document for all pages, and its assets. They hold no data, so they need no token.
 * @param guard check that each of these routes begins with
 */
export function createDashboard(
  files: DashboardFiles | undefined,
  guard: MiddlewareHandler<ApiEnv>,
): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  for (const path of PAGE_PATHS) {
    routes.get(path, guard, (c) =>
      files === undefined
        ? c.text(NOT_BUILT, 404)
        : c.html(placeAssets(files.document, c), 200, DOCUMENT_HEADERS),
    );
  }
  return routes.get('/assets/:name', guard, (c) => {
    const asset = files?.assets.get(c.req.param('name'));
    return asset === undefined
      ? c.notFound()
      : c.body(asset.content, 200, { ...ASSET_HEADERS, 'content-type': asset.contentType });
  });
}

/**
 * Writes the addresses of the assets for the path of a page: below the path of a proxy if it is known, else up from the page, so that a
 * proxy may remove any path.
 */
function placeAssets(document: string, { req, var: { site } }: Context<ApiEnv>): string {
  const up = '../'.repeat(req.path.split('/').length - 2) || './';
  const root = site.basePath === '' ? up : `${site.basePath}/`;
  return document.replaceAll('="./assets/', `="${root}assets/`);
}
