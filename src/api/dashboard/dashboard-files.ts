import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

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
