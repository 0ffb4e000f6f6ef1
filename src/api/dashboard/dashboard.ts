import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { accepts } from 'hono/accepts';
import { readIfThere } from '../../config/data-folder.ts';
import type { ApiEnv } from '../router.ts';
import { PAGE_PATHS } from './page-paths.ts';

export interface DashboardFiles {
  readonly document: string;
  /** Files by name that the document loads. Their names change with their content. */
  readonly assets: ReadonlyMap<string, DashboardAsset>;
}

type Bytes = Uint8Array<ArrayBuffer>;

export interface DashboardAsset {
  readonly contentType: string;
  readonly content: Bytes;
  /** The same content compressed, where the build has it. */
  readonly compressed: { readonly [Encoding in keyof typeof SUFFIXES]?: Bytes };
}

/** Encodings of compressed files, the smaller one first, with the suffix of their names. */
const SUFFIXES = { br: '.br', gzip: '.gz' } as const;

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
  const names = readdirSync(join(folder, 'assets'));
  const files = names.map(
    (name) => [name, new Uint8Array(readFileSync(join(folder, 'assets', name)))] as const,
  );
  return { document, assets: joinAssets(new Map(files)) };
}

/** Joins the files of a build to its assets: each with its compressed forms. */
export function joinAssets(files: ReadonlyMap<string, Bytes>): DashboardFiles['assets'] {
  const assets = [...files].flatMap(([name, content]): [string, DashboardAsset][] => {
    const contentType = CONTENT_TYPES[extname(name)];
    if (contentType === undefined) {
      return [];
    }
    const compressed = Object.fromEntries(
      Object.entries(SUFFIXES).flatMap(([encoding, suffix]) => {
        const bytes = files.get(name + suffix);
        return bytes === undefined ? [] : [[encoding, bytes]];
      }),
    );
    return [[name, { contentType, content, compressed }]];
  });
  return new Map(assets);
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
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' };

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
    if (asset === undefined) {
      return c.notFound();
    }
    const headers = { ...ASSET_HEADERS, 'content-type': asset.contentType };
    const found = chooseCompressed(c, asset);
    return found === undefined
      ? c.body(asset.content, 200, headers)
      : c.body(found.bytes, 200, { ...headers, 'content-encoding': found.encoding });
  });
}

/** Finds the smallest form of an asset that a browser reads; undefined for one that reads none. */
function chooseCompressed(c: Context<ApiEnv>, { compressed }: DashboardAsset) {
  const known = Object.keys(compressed);
  const encoding = accepts(c, {
    header: 'Accept-Encoding',
    supports: known,
    default: '',
    match: (given) =>
      known.find((name) => (given.find(({ type }) => type === name || type === '*')?.q ?? 0) > 0) ?? '',
  });
  const bytes = compressed[encoding as keyof typeof compressed];
  return bytes && { encoding, bytes };
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
