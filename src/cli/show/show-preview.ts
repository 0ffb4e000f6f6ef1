import type { previewJson } from '../../api/json/preview-json.ts';
import { formatAbout, formatCount } from '../../domain/plural.ts';
import { cleanLine } from './clean-text.ts';
import { showEstimate, showMoney } from './show-estimate.ts';
import { showReasons } from './show-reasons.ts';

type Preview = ReturnType<typeof previewJson>;
type PreviewedTrace = Preview['traces'][number];
type Verdict = PreviewedTrace['verdicts'][number];

/** Formats a preview for people. */
export function showPreview(preview: Preview): string {
  const { rule, from, to, matched, selected, left, isComplete, estimate, traces, monitors, costUsd } =
    preview;
  const target = rule.target === 'session' ? 'session' : 'trace';
  return [
    `rule ${rule.name} on ${rule.target}, ${from} to ${to}: ${showForce(rule.inForce)}`,
    [
      formatCount(matched, target),
      `${selected} would be scored`,
      ...showReasons('left out', left),
      ...(isComplete ? [] : [`not all ${target}s were listed`]),
    ].join(' · '),
    ...showEstimate(estimate),
    showWeek(preview, target),
    ...monitors.map(showMonitor),
    ...(monitors.length === 0 ? ['no monitor watches these scorers'] : []),
    ...(traces.length === 0
      ? []
      : [
          `${formatCount(traces.length, target)} really judged, for ${costUsd === null ? 'an unknown price' : showMoney(costUsd)}:`,
        ]),
    ...traces.flatMap(showTrace),
  ].join('\n');
}

function showForce(inForce: Preview['rule']['inForce']): string {
  return inForce === null
    ? 'not in force'
    : `in force since ${inForce.activeFrom}${inForce.isSame ? '' : ', in another version'}`;
}

function showWeek({ perWeek: { traces, judgeCalls, costUsd } }: Preview, target: string): string {
  const cost = costUsd === null ? 'an unknown price' : `about ${showMoney(costUsd)}`;
  return `a week: ${formatAbout(traces, target)}, ${formatAbout(judgeCalls, 'judge call')}, ${cost}`;
}

function showMonitor({ alert, series, scores, firedAt }: Preview['monitors'][number]): string {
  const fired = firedAt.length === 0 ? 'would not have fired' : `would have fired at ${firedAt.join(', ')}`;
  return `monitor ${cleanLine(alert, 60)} on ${cleanLine(series, 120)}: ${fired} (${formatCount(scores, 'stored score')})`;
}

function showTrace({ traceId, sessionId, reading, verdicts, error }: PreviewedTrace): string[] {
  const runs = reading?.runs ?? [];
  const names = runs.map(
    ({ agent, service, conventions }) =>
      `${cleanLine(agent ?? service ?? 'unnamed', 60)}, read as ${conventions.join(', ') || 'nothing known'}`,
  );
  const unread = reading?.notUnderstood ?? [];
  return [
    `${traceId || cleanLine(sessionId, 120)}  ${names.join('; ') || 'no run'}`,
    ...unread.map(
      ({ name, reason }) => `  not understood: ${cleanLine(name, 80)}: ${cleanLine(reason, 160)}`,
    ),
    ...verdicts.map((verdict) => `  ${showVerdict(verdict)}`),
    ...(error === null ? [] : [`  broken off: ${cleanLine(error, 200)}`]),
  ];
}

function showVerdict({ scorer, status, score, label, reason, stored }: Verdict): string {
  const now =
    score === null
      ? status
      : [String(Number(score.toFixed(4))), cleanLine(label, 40)].filter(Boolean).join(' ');
  const before =
    stored === null
      ? 'none stored'
      : `stored ${Number(stored.score.toFixed(4))}${stored.isSameScorer ? '' : ' (another version)'}`;
  return `${cleanLine(scorer, 60)}  ${now}  (${before})  ${cleanLine(reason, 200)}`.trimEnd();
}
