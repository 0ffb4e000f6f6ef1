import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';
import { joinAssets, type DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';

/** Configuration file of the build. */
export const DASHBOARD_CONFIG = fileURLToPath(
  new URL('../../../src/dashboard/vite.config.ts', import.meta.url),
);

let built: Promise<DashboardFiles> | undefined;

/** Builds the dashboard into memory, as `npm run build:dashboard` builds it into a folder, once for all files of a worker. */
export function buildDashboard(): Promise<DashboardFiles> {
  return (built ??= buildFiles());
}

async function buildFiles(): Promise<DashboardFiles> {
  const { output } = (await build({
    configFile: DASHBOARD_CONFIG,
    logLevel: 'warn',
    build: { write: false },
  })) as Rolldown.RolldownOutput;
  const texts = new Map(
    output.map((file) => [file.fileName, Buffer.from(file.type === 'chunk' ? file.code : file.source)]),
  );
  const files = [...texts].flatMap(([path, content]) =>
    path.startsWith('assets/') ? [[path.slice('assets/'.length), new Uint8Array(content)] as const] : [],
  );
  return { document: texts.get('index.html')?.toString() ?? '', assets: joinAssets(new Map(files)) };
}
