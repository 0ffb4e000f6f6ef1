import type { z } from 'zod';
import type { Alert, Monitor, Mute } from '../api/resources/alerts.ts';
import type { CompareReply } from '../api/resources/aggregates/compare.ts';
import type { Coverage } from '../api/resources/aggregates/coverage.ts';
import type { DistributionReply } from '../api/resources/aggregates/distribution.ts';
import type { OverviewReply } from '../api/resources/aggregates/overview.ts';
import type { SeriesReply } from '../api/resources/aggregates/series.ts';
import type { Status } from '../api/resources/status.ts';
import type { SignIn } from '../api/resources/sign-in.ts';
import type { Backfill, NewBackfill } from '../api/resources/backfills.ts';
import type { JudgePage, RuleItem, ScorerItem } from '../api/resources/configured.ts';
import type { ScorerAgreement, LabelQueue, NewLabel, StoredLabel } from '../api/resources/labels.ts';
import type { NewPreview, Preview } from '../api/resources/previews.ts';
import type { ScoreDetail, ScoreItem } from '../api/json/rows.ts';
import type { SessionDetail, SessionItem } from '../api/resources/sessions.ts';
import type { SpanItem, TraceDetail, TraceItem } from '../api/resources/traces.ts';

/** Page of a list. */
interface Page<Schema extends z.ZodType> {
  readonly items: z.output<Schema>[];
  readonly next: string | null;
}

/** Share of runs with its 95 % interval. */
export interface Rate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/** Pass rate of a scorer on the runs of an agent, against the 14 days before. */
export interface AgentQuality {
  readonly scorer: string;
  /** True when labels or a bar of the scorer say which scores pass. */
  readonly isDeclared: boolean;
  readonly pass: Rate | null;
  readonly before: Rate | null;
  readonly change: number | null;
  readonly significant: boolean;
  readonly points: readonly (number | null)[];
}

export interface AgentItem {
  readonly agent: string;
  readonly service: string;
  readonly runs: number;
  readonly versions: readonly {
    readonly version: string;
    readonly firstSeen: string | null;
    readonly runs: number;
  }[];
  readonly qualities: readonly AgentQuality[];
  readonly toolErrors: Rate | null;
  readonly costUsd: number | null;
  readonly unpricedModels: readonly string[];
  readonly p95Ms: number | null;
}

export interface AgentDetail extends Omit<AgentItem, 'versions'> {
  readonly versions: readonly (AgentItem['versions'][number] & {
    readonly qualities: readonly { readonly scorer: string; readonly pass: Rate | null }[];
  })[];
  readonly tools: readonly {
    readonly name: string;
    readonly calls: number;
    readonly errors: number;
    readonly p95Ms: number | null;
  }[];
  readonly models: readonly {
    readonly model: string;
    readonly runs: number;
    readonly costUsd: number | null;
  }[];
  readonly users: readonly { readonly userId: string; readonly runs: number; readonly failing: number }[];
}

/** Two versions of an agent, quality by quality. */
export interface Versions {
  readonly left: VersionSide;
  readonly right: VersionSide;
  readonly items: readonly {
    readonly scorer: string;
    readonly left: Rate | null;
    readonly right: Rate | null;
    readonly evidenceLog10: number | null;
    readonly verdict: 'worse' | 'better' | 'not_shown';
  }[];
}

interface VersionSide {
  readonly version: string;
  readonly runs: number;
  readonly tokens: number | null;
  readonly p50Ms: number | null;
}

/** Money of agents and judges by a facet and a bucket of time. */
export interface Costs {
  readonly items: readonly {
    readonly key: string;
    readonly bucket: string;
    readonly agentUsd: number | null;
    readonly judgeUsd: number | null;
    readonly runs: number;
    readonly unpriced: number;
  }[];
}

/** Incident with its cause, what was sent about it, and what people wrote. */
export type Incident = z.output<typeof Alert> & {
  readonly cause: { readonly sentence: string; readonly segments: z.output<typeof Alert>['segments'] } | null;
  readonly versions: Versions | null;
  readonly messages: readonly {
    readonly channel: string;
    readonly at: string | null;
    readonly state: 'sent' | 'waiting' | 'failed';
  }[];
  readonly notes: readonly { readonly at: string | null; readonly by: string; readonly text: string }[];
};

/** Outcome of a change of the configuration. */
export interface Reload {
  readonly outcome: 'applied' | 'unchanged' | 'refused';
  readonly revision: number;
  readonly at: string;
  readonly changed: readonly string[];
  readonly issues: readonly { readonly path: string; readonly message: string }[];
  readonly needsRestart: readonly string[];
}

export interface Applied {
  readonly diff: string;
  readonly applied: boolean;
  /** Why the file was not written; null when it was. */
  readonly reason: string | null;
  readonly file: string;
  readonly backup: string | null;
  readonly reload: Reload | null;
}

/** What was asked and answered in a run, what was found, and why scorers did not score it. */
interface RunTexts {
  readonly question: string | null;
  readonly answer: string | null;
  readonly finding: { readonly scorer: string; readonly verdict: string; readonly claim: string } | null;
  readonly notScored: readonly { readonly scorer: string; readonly reason: string }[];
}

/** Values of each filter with their counts. */
export type Facets = Readonly<Record<string, readonly { readonly value: string; readonly count: number }[]>>;

export interface Funnel {
  readonly runs: number;
  readonly arrived: number;
  readonly eligible: number;
  readonly sampled: number;
  readonly scored: number;
  readonly losses: readonly {
    readonly after: 'arrived' | 'eligible' | 'sampled';
    readonly reason: string;
    readonly count: number;
    readonly runs: number;
    readonly traces: string;
    readonly mend: string | null;
  }[];
}

/** Replies of the routes that the dashboard reads, by their path. The schemas are those with which the server checks itself. */
export interface Replies {
  '/agents': { readonly items: readonly AgentItem[]; readonly next: string | null };
  '/agents/{agent}': AgentDetail;
  '/agents/{agent}/versions': Versions;
  '/alerts': Page<typeof Alert>;
  '/alerts/{id}': Incident;
  '/backfills': Page<typeof Backfill>;
  '/backfills/{id}': z.output<typeof Backfill>;
  '/compare': z.output<typeof CompareReply>;
  '/coverage': Page<typeof Coverage>;
  '/costs': Costs;
  '/coverage/funnel': Funnel;
  '/distribution': z.output<typeof DistributionReply>;
  '/judges': z.output<typeof JudgePage>;
  '/monitors': Page<typeof Monitor>;
  '/labels/queue': z.output<typeof LabelQueue>;
  '/labels/agreement': z.output<typeof ScorerAgreement>;
  '/mutes': {
    readonly items: (z.output<typeof Mute> & { readonly by: string; readonly reason: string })[];
    readonly next: string | null;
  };
  '/overview': z.output<typeof OverviewReply> & { readonly passing?: Rate | null };
  '/rules': Page<typeof RuleItem>;
  '/scorers': Page<typeof ScorerItem>;
  '/scores': Page<typeof ScoreItem>;
  '/scores/{scoreId}': z.output<typeof ScoreDetail>;
  '/series': z.output<typeof SeriesReply>;
  '/session': z.output<typeof SignIn>;
  '/sessions': {
    readonly items: (z.output<typeof SessionItem> & {
      readonly worst: { readonly scorer: string; readonly score: number } | null;
    })[];
    readonly next: string | null;
  };
  '/sessions/{sessionId}': Omit<z.output<typeof SessionDetail>, 'turns'> & {
    readonly turns: (z.output<typeof TraceItem> & RunTexts)[];
  };
  '/status': z.output<typeof Status> & {
    readonly configuration?: {
      readonly file: string | null;
      readonly revision: number;
      readonly loadedAt: string;
      readonly lastReload: Reload | null;
    };
  };
  '/traces': { readonly items: (z.output<typeof TraceItem> & RunTexts)[]; readonly next: string | null };
  '/traces/facets': Facets;
  '/traces/{traceId}': z.output<typeof TraceDetail>;
  '/traces/{traceId}/spans/{spanId}': z.output<typeof SpanItem>;
}

export type ReadPath = keyof Replies;

/** Item of a list. */
export type Item<Path extends ReadPath> = Replies[Path] extends { readonly items: readonly (infer One)[] }
  ? One
  : never;

/** Routes to which the dashboard writes, by method and path: their bodies and their replies. */
export interface Writes {
  'POST /alerts/{id}/ack': Write<undefined>;
  'POST /alerts/{id}/notes': Write<{ readonly text: string }>;
  'POST /config/apply': Write<
    {
      readonly changes: readonly { readonly path: string; readonly value: unknown }[];
      readonly dryRun?: boolean;
    },
    Applied
  >;
  'POST /mutes': Write<{ readonly subject: string; readonly for: string; readonly reason?: string }>;
  'DELETE /mutes': Write<undefined>;
  'POST /backfills/{id}/pause': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills/{id}/resume': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills/{id}/cancel': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills': Write<z.input<typeof NewBackfill>, z.output<typeof Backfill>>;
  'POST /preview': Write<z.input<typeof NewPreview>, z.output<typeof Preview>>;
  'POST /session': Write<{ readonly token: string }>;
  'DELETE /session': Write<undefined>;
  'POST /labels': Write<z.input<typeof NewLabel>, z.output<typeof StoredLabel>>;
}

interface Write<Body, Reply = unknown> {
  readonly body: Body;
  readonly reply: Reply;
}
