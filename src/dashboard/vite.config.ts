import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Address of the `serve` that the development server asks. */
const API = process.env['SPANSCORE_DASHBOARD_API'] ?? 'http://127.0.0.1:4320';

/** Writes scripts and styles also compressed, so that `serve` sends them so without work of its own. */
const compressed: Plugin = {
  name: 'compressed',
  enforce: 'post',
  // A build into memory is for tests.
  apply: ({ build }) => build?.write !== false,
  generateBundle: {
    // After Vite has written the paths of parts that are loaded later.
    order: 'post',
    handler(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        if (/\.(js|css)$/u.test(fileName)) {
          const source = file.type === 'chunk' ? file.code : file.source;
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotliCompressSync(source) });
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(source) });
        }
      }
    },
  },
};

/** Builds the dashboard to static files that need nothing from other hosts. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [compressed],
  // `serve` writes the addresses of assets for each page: a proxy may add a path.
  base: './',
  // The host stays as the browser sent it, so that `serve` sees the origin as its own.
  server: { proxy: { '/api': { target: API, changeOrigin: false } } },
  // Without positions in the source: they would count in the size of a build for tests.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
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
