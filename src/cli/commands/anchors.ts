import type { anchorsJson } from '../../api/resources/anchors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi, type Page } from '../open-api.ts';
import { cleanLine, shortFingerprint } from '../show/clean-text.ts';
import { tableOf } from '../show/output.ts';

export const registerAnchors: RegisterCommand = (program, bind) => {
  withExamples(program.command('anchors'), [['one scorer', 'spanscore anchors --scorer grounding']])
    .option('--scorer <name>', 'only this scorer')
    .action(bind(list));
};

async function list(context: CommandContext, { scorer }: { readonly scorer?: string }) {
  const api = await openApi(context, 'anchors');
  const { items } = await api.read<Page<ReturnType<typeof anchorsJson>>>('/anchors', { scorer });
  const shown = (value: number | null) => (value === null ? '-' : value.toFixed(3));
  const text = () =>
    tableOf(items, {
      SCORER: (item) => cleanLine(item.scorer, 60),
      VERSION: ({ fingerprint }) => shortFingerprint(fingerprint),
      STATE: ({ state }) => state,
      ANCHORS: ({ size }) => size,
      LABELLED: ({ labelled }) => labelled,
      JUDGINGS: ({ judged }) => judged,
      BEFORE: ({ before }) => shown(before),
      AFTER: ({ after }) => shown(after),
      EVIDENCE: ({ evidenceLog10 }) => evidenceLog10.toFixed(1),
      LAST: ({ lastAt }) => lastAt ?? '-',
    });
  await context.out.list(items, text, 'no judge has anchors yet: the first scores of a judge become some');
  return EXIT.done;
}
