import { Option } from 'commander';
import { type ScorerAgreement, toGiven } from '../../api/resources/labels.ts';
import { type scoreJson, isoTime } from '../../api/json/rows.ts';
import type { z } from 'zod';
import { DAY_MS } from '../../domain/durations.ts';
import { formatCount } from '../../domain/plural.ts';
import { collectNames, parseMoment } from '../arguments.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import {
  CSV_HEAD,
  type ExportedLabel,
  formatCsv,
  formatNdjson,
  guessFormat,
  LABEL_FORMATS,
  type LabelFormat,
  parseLabels,
  readLabelText,
} from '../input/label-file.ts';
import { listRowNames } from '../input/names.ts';
import { addEstimateCommand } from '../labels/estimate-pass-rates.ts';
import { addExamplesCommand } from '../labels/try-examples.ts';
import { openApi } from '../open-api.ts';
import { cleanLine, shortFingerprint } from '../show/clean-text.ts';
import { reportFile, writeOutputFile } from '../show/output-file.ts';
import { table, tableOf } from '../show/output.ts';

interface ImportOptions {
  readonly format?: LabelFormat;
  readonly reviewer?: string;
  readonly tenant: string;
}

interface ExportOptions {
  readonly scorer?: readonly string[];
  readonly since?: number;
  readonly format?: LabelFormat;
  readonly out?: string;
  readonly raw?: boolean;
}

interface AgreementOptions {
  readonly scorer: string;
  readonly since?: number;
}

/** Range of `agreement` without `--since`. */
const DEFAULT_RANGE_MS = 30 * DAY_MS;

export const registerLabels: RegisterCommand = (program, bind) => {
  const labels = withExamples(program.command('labels'), [
    ['store the labels of a file', 'spanscore labels import labels.csv --reviewer ann'],
    ['all labels of this month', 'spanscore labels export --since 30d --out labels.csv'],
    ['how often people agree with a scorer', 'spanscore labels agreement --scorer hallucination'],
    ['how many answers pass, by people', 'spanscore labels estimate --scorer hallucination --by week'],
    ['runs that a judge of yours can learn from', 'spanscore labels examples --scorer refund-policy'],
  ]);
  labels
    .command('import')
    .description(
      'Store the labels of a file. Fields: traceId (or sessionId), spanId, scorer, score (or passes), label, note, reviewer, tenant. A bad line is named, and the others are stored.',
    )
    .argument('<file>', 'CSV with a head, or lines of JSON; - is stdin')
    .addOption(
      new Option('--format <format>', 'format of the file (default: by its name)').choices(LABEL_FORMATS),
    )
    .option('--reviewer <name>', 'author of lines without a reviewer')
    .option('--tenant <name>', 'tenant of lines without one', '')
    .action(bind(importFile));
  labels
    .command('export')
    .description('Print labels, newest run first.')
    .option(
      '--scorer <names>',
      'only labels for these scorers (repeatable, or with commas); grounding and panel mean all of their rows',
      collectNames,
    )
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time', parseMoment)
    .addOption(
      new Option('--format <format>', 'format (default: by the name of the file, else csv)').choices(
        LABEL_FORMATS,
      ),
    )
    .option('--out <file>', 'write to this file; without it to stdout')
    .option('--raw', "CSV: without the sign ' in front of texts that a spreadsheet would compute")
    .action(bind(exportLabels));
  labels
    .command('agreement')
    .description(
      `Compare each version of a scorer with people: Cohen's kappa with its 95 % interval, confusion, sensitivity and specificity with theirs, and the corrected pass rate.`,
    )
    .requiredOption('--scorer <name>', 'compare this scorer; grounding and panel mean all of their rows')
    .option('--since <when>', 'runs that began since 1h, 7d, or a date and time (default: 30d)', parseMoment)
    .action(bind(agreement));
  addEstimateCommand(labels, bind);
  addExamplesCommand(labels, bind);
};

/** Stores labels by the store itself: many in one insert, and a fault for each line. */
async function importFile(context: CommandContext, file: string, options: ImportOptions): Promise<ExitCode> {
  const content = await readLabelText(file, context);
  const lines = parseLabels(content, options.format ?? guessFormat(file, content));
  const { config, store, purged } = await context.openApp();
  const { importLabels } = await import('../../api/writes/labels.ts');
  const { createWriteRecorder } = await import('../../api/writes/audit.ts');
  const { createPostDeps } = await import('../../api/writes/posted-scores.ts');
  const { loadPurgeKey } = await import('../../purge/configured-purge.ts');
  const named = lines.map((each) =>
    'fault' in each || each.label.reviewer !== undefined || options.reviewer !== undefined
      ? each
      : { line: each.line, fault: 'reviewer: is required; name one with --reviewer' },
  );
  const found = named.flatMap((each) => ('fault' in each ? [] : [each]));
  const refused = await importLabels(
    {
      ...createPostDeps(config, { store, purged }),
      recordWrite: createWriteRecorder(store.audit, loadPurgeKey(config.store)),
    },
    found.map(({ line, tenant = options.tenant, label }) => ({
      line,
      tenant,
      label: toGiven({ ...label, reviewer: label.reviewer ?? options.reviewer }),
    })),
  );
  const faults = [...named.flatMap((each) => ('fault' in each ? [each] : [])), ...refused].toSorted(
    (a, b) => a.line - b.line,
  );
  for (const { line, fault } of faults) {
    context.out.talk(`${file}:${line}: ${cleanLine(fault, 500)}`);
  }
  const stored = found.length - refused.length;
  await context.out.document({ stored, refused: faults }, () => {
    const rest = faults.length === 0 ? '' : `, ${formatCount(faults.length, 'line')} refused`;
    return `${formatCount(stored, 'label')} stored${rest}`;
  });
  return faults.length === 0 ? EXIT.done : EXIT.someFailed;
}

async function exportLabels(context: CommandContext, options: ExportOptions): Promise<ExitCode> {
  const { config, store } = await context.openApp();
  const format = chooseFormat(context, options);
  const { scorer } = options;
  const query = {
    source: 'human',
    scorer: scorer && (await listRowNames(scorer, config, store)),
    since: isoTime(options.since ?? null) ?? undefined,
  };
  const api = await openApi(context, 'labels export');
  let count = 0;
  async function* formatLines(): AsyncGenerator<string> {
    if (format === 'csv') {
      yield `${CSV_HEAD}\n`;
    }
    for await (const score of api.list<LabelJson>('/scores', query)) {
      const label = toExported(score);
      count += 1;
      yield `${format === 'csv' ? formatCsv(label, options.raw) : formatNdjson(label)}\n`;
    }
  }
  const { out } = context;
  if (options.out === undefined) {
    for await (const line of formatLines()) {
      await (out.json ? out.item(JSON.parse(line), () => '') : out.raw(line));
    }
    out.talk(`${formatCount(count, 'label')} exported`);
    return EXIT.done;
  }
  const { file } = await writeOutputFile(context, options.out, formatLines());
  await reportFile(out, { file, format, labels: count }, `${formatCount(count, 'label')} exported`);
  return EXIT.done;
}

/** Chooses the format of a file as the import guesses it, and that of stdout by `--json`. */
function chooseFormat({ out: { json } }: CommandContext, { format, out }: ExportOptions): LabelFormat {
  if (out === undefined) {
    return json ? 'ndjson' : (format ?? 'csv');
  }
  return format ?? guessFormat(out, '');
}

type LabelJson = ReturnType<typeof scoreJson>;

function toExported(score: LabelJson): ExportedLabel {
  const { tenant, traceId, sessionId, scorer, label, reason, scoredBy, scoredAt } = score;
  return {
    tenant,
    traceId,
    spanId: score.targetId === traceId || traceId === '' ? '' : score.spanId,
    sessionId: traceId === '' ? sessionId : '',
    scorer,
    score: score.score,
    label,
    note: reason,
    reviewer: scoredBy,
    labelledAt: scoredAt ?? '',
  };
}

async function agreement(context: CommandContext, options: AgreementOptions): Promise<ExitCode> {
  const { config, store } = await context.openApp();
  const { scorer, since = Date.now() - DEFAULT_RANGE_MS } = options;
  const scorers = await listRowNames([scorer], config, store);
  const api = await openApi(context, 'labels agreement');
  const agreed = await api.read<Agreement>('/labels/agreement', {
    scorer,
    since: isoTime(since) ?? undefined,
  });
  if (agreed.versions.length === 0) {
    context.out.talk(
      `no run since ${agreed.since} has both a score of ${scorer} and a label for it; label some: GET /api/v1/labels/queue?scorer=${scorers.at(-1)}, or spanscore labels import`,
    );
  }
  await context.out.document(agreed, () => showAgreement(agreed));
  return EXIT.done;
}

type Agreement = z.output<typeof ScorerAgreement>;

function showAgreement({ versions, reviewers }: Agreement): string {
  const ofVersions = tableOf(versions, {
    SCORER: ({ scorer }) => cleanLine(scorer, 60),
    VERSION: ({ fingerprint }) => shortFingerprint(fingerprint),
    JUDGE: ({ judgeModel }) => cleanLine(judgeModel || '-', 40),
    LABELS: ({ n }) => n,
    KAPPA: ({ kappa, kappaLow, kappaHigh }) => showInterval(kappa, kappaLow, kappaHigh),
    'BOTH PASS': ({ confusion }) => confusion.bothPass,
    'ONLY SCORER': ({ confusion }) => confusion.leftPasses,
    'ONLY PEOPLE': ({ confusion }) => confusion.rightPasses,
    'BOTH FAIL': ({ confusion }) => confusion.bothFail,
    SENSITIVITY: (each) => showInterval(each.sensitivity, each.sensitivityLow, each.sensitivityHigh),
    SPECIFICITY: (each) => showInterval(each.specificity, each.specificityLow, each.specificityHigh),
    'PASS RATE': ({ passRate }) => showShare(passRate),
    CORRECTED: ({ corrected }) =>
      corrected === null ? '-' : showInterval(corrected.share, corrected.low, corrected.high),
  });
  const people = reviewers.map(({ scorer, left, right, n, kappa, kappaLow, kappaHigh }) => [
    cleanLine(scorer, 60),
    cleanLine(left, 40),
    cleanLine(right, 40),
    String(n),
    showInterval(kappa, kappaLow, kappaHigh),
  ]);
  return [
    ...(versions.length === 0 ? [] : [ofVersions]),
    ...(people.length === 0 ? [] : [table(['SCORER', 'REVIEWER', 'REVIEWER', 'LABELS', 'KAPPA'], people)]),
  ].join('\n\n');
}

function showShare(share: number | null): string {
  return share === null ? '-' : share.toFixed(2);
}

function showInterval(value: number | null, low: number | null, high: number | null): string {
  return value === null ? '-' : `${showShare(value)} (${showShare(low)} to ${showShare(high)})`;
}
