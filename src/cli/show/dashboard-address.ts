import { isDashboardBuilt } from '../../process/package.ts';

/** Command that builds the dashboard in a checkout. */
const BUILD = 'npm run build:dashboard';

/** Address of the dashboard: the public one, else for a browser on this machine. An API that listens everywhere is on loopback, too. */
export function dashboardUrl(api: string, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) {
    return publicUrl;
  }
  const url = new URL(api);
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') {
    url.hostname = url.hostname === '0.0.0.0' ? '127.0.0.1' : '[::1]';
  }
  return url.href;
}

/** Writes where the dashboard is, or how to build it. */
export function showDashboard(url: string): string {
  return isDashboardBuilt() ? url : `not built: ${BUILD}, then start serve again`;
}
