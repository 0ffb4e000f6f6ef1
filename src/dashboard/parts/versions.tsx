import type { Versions } from '../api-types.ts';
import { formatNumber } from '../view-models/format.ts';
import { scorerPath } from '../view-models/paths/row-paths.ts';
import { listVersionLines, readEvidence, type VersionLine } from '../view-models/versions.ts';
import { Table, type Column } from './table.tsx';
import { TextLink } from './text.tsx';

const SIGNS = { worse: '▼ worse', better: '▲ better', not_shown: '' } as const;

const TONES = { worse: 'bad', better: 'good', not_shown: undefined } as const;

/** Two versions of an agent side by side: pass rates with their intervals, tokens, time, and how sure a difference is. */
export function VersionTable({ versions }: { readonly versions: Versions }) {
  const { left, right } = versions;
  const title = ({ version, runs }: Versions['left']) =>
    `${version || 'no version'} (n = ${formatNumber(runs)})`;
  const columns: Column<VersionLine>[] = [
    {
      name: 'Quality',
      cell: ({ name, isScorer }) => (isScorer ? <TextLink to={scorerPath(name)} of={name} /> : name),
    },
    { name: title(left), cell: (line) => line.left, isNumber: true },
    {
      name: title(right),
      cell: (line) => (
        <span class={TONES[line.verdict]}>
          {line.right} {SIGNS[line.verdict]}
        </span>
      ),
      isNumber: true,
    },
    { name: 'Evidence', cell: ({ evidenceLog10 }) => <Evidence log10={evidenceLog10} />, isNumber: true },
  ];
  return (
    <Table
      caption="Versions side by side"
      columns={columns}
      rows={listVersionLines(versions)}
      keyOf={({ name }) => name}
    />
  );
}

/** Odds for a change against none. */
export function Evidence({ log10 }: { readonly log10: number | null }) {
  const { text, power } = readEvidence(log10);
  return (
    <>
      {text}
      {power !== '' && <sup>{power}</sup>}
    </>
  );
}
