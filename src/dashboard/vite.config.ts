import { defineConfig } from 'vite';

/** Address of the `serve` that the development server asks. */
const API = process.env['SPANSCORE_DASHBOARD_API'] ?? 'http://127.0.0.1:4320';

/** Builds the dashboard to static files that need nothing from other hosts. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  // `serve` writes the addresses of assets for each page: a proxy may add a path.
  base: './',
  // The host stays as the browser sent it, so that `serve` sees the origin as its own.
  server: { proxy: { '/api': { target: API, changeOrigin: false } } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
  },
});
