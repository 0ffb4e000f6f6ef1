import type { anchorsJson } from '../../api/resources/anchors.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi } from '../open-api.ts';
import { cleanLine } from '../show/clean-text.ts';
import { table } from '../show/output.ts';

/** Digits of a fingerprint that tell the versions of a scorer apart. */
const FINGERPRINT_DIGITS = 8;

export const registerAnchors: RegisterCommand = (program, bind) => {
  program
    .command('anchors')
    .addHelpText('before', examples(['one scorer', 'spanscore anchors --scorer grounding']))
    .option('--scorer <name>', 'only this scorer')
    .action(bind(list));
};

async function list(context: CommandContext, { scorer }: { readonly scorer?: string }) {
  const api = await openApi(context, 'anchors');
  const { items } = await api.read<{ readonly items: readonly ReturnType<typeof anchorsJson>[] }>(
    '/anchors',
    {
      scorer,
    },
  );
  if (items.length === 0) {
    context.out.talk('no judge has anchors yet: the first scores of a judge become some');
  }
  const shown = (value: number | null) => (value === null ? '-' : value.toFixed(3));
  await context.out.list(items, () =>
    table(
      [
        'SCORER',
        'VERSION',
        'STATE',
        'ANCHORS',
        'LABELLED',
        'JUDGINGS',
        'BEFORE',
        'AFTER',
        'EVIDENCE',
        'LAST',
      ],
      items.map(({ fingerprint, size, labelled, judged, before, after, ...item }) => [
        cleanLine(item.scorer, 60),
        fingerprint.slice(0, FINGERPRINT_DIGITS),
        item.state,
        ...[size, labelled, judged].map(String),
        shown(before),
        shown(after),
        item.evidenceLog10.toFixed(1),
        item.lastAt ?? '-',
      ]),
    ),
  );
  return EXIT.done;
}
