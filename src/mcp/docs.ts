import { readdirSync, readFileSync } from 'node:fs';
import { packageRoot } from '../process/package.ts';

export interface DocsPage {
  /** Path below `docs`, without its ending: `quickstarts/mastra`. */
  readonly name: string;
  readonly title: string;
  /** First sentences. */
  readonly summary: string;
  readonly read: () => string;
}

export function listDocs(): DocsPage[] {
  const root = new URL('docs/', packageRoot());
  const names = ['', 'quickstarts/'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((file) => file.endsWith('.md'))
      .toSorted()
      .map((file) => `${folder}${file.slice(0, -'.md'.length)}`),
  );
  return names.map((name) => {
    const read = () => readFileSync(new URL(`${name}.md`, root), 'utf8');
    const [, title = name, summary = ''] = /^# (.+)\n+([^#|`<][^]*?)(?:\n\n|$)/u.exec(read()) ?? [];
    return { name, title, summary: summary.replaceAll(/\s+/gu, ' '), read };
  });
}

/** Writes the index of the documentation for agents (llmstxt.org). */
export function writeIndex(pages: readonly DocsPage[]): string {
  const lines = pages.map(({ name, title, summary }) => {
    const anchor = encodeURIComponent(name);
    return `- [${title}](llms-full.txt#${anchor})${summary === '' ? '' : `: ${summary}`}`;
  });
  return `# spanscore

> Scores production AI-agent traffic from its OpenTelemetry traces. Agents ask a running spanscore over MCP: POST /mcp, or \`spanscore mcp\`.

## Docs

${lines.join('\n')}
`;
}

export function writeAllDocs(pages: readonly DocsPage[]): string {
  return pages.map(({ name, read }) => `<a id="${name}"></a>\n\n${read().trim()}\n`).join('\n');
}
