import type { Output } from './output.ts';

/** Reports a written file: to people on stderr, and with `json` as the document of the command. */
export async function reportFile(
  out: Pick<Output, 'json' | 'document' | 'talk'>,
  facts: { readonly file: string; readonly format: string } & Readonly<Record<string, unknown>>,
  message: string,
): Promise<void> {
  await (out.json ? out.document(facts, () => message) : out.talk(message));
}
