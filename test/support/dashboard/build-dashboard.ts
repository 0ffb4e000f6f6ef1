import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';
import type { DashboardAsset, DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';

/** Configuration file of the build. */
export const DASHBOARD_CONFIG = fileURLToPath(
  new URL('../../../src/dashboard/vite.config.ts', import.meta.url),
);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Builds the dashboard into memory, as `npm run build:dashboard` builds it into a folder. */
export async function buildDashboard(): Promise<DashboardFiles> {
  const built = (await build({
    configFile: DASHBOARD_CONFIG,
    logLevel: 'warn',
    build: { write: false },
  })) as Rolldown.RolldownOutput;
  const texts = new Map(
    built.output.map((file) => [file.fileName, Buffer.from(file.type === 'chunk' ? file.code : file.source)]),
  );
  const assets = [...texts].flatMap(([path, content]): (readonly [string, DashboardAsset])[] => {
    const contentType = CONTENT_TYPES[path.split('.').at(-1) ?? ''];
    return path.startsWith('assets/') && contentType !== undefined
      ? [[path.slice('assets/'.length), { contentType, content: new Uint8Array(content) }]]
      : [];
  });
  return { document: texts.get('index.html')?.toString() ?? '', assets: new Map(assets) };
}
