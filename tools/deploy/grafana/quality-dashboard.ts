import { sqlSeries, sqlTable, table, timeSeries, type Dashboard } from './dashboard.ts';

/** Condition of a variable of which several values, or all, may be chosen. */
function chosen(column: string, variable: string): string {
  return `$__conditionalAll(${column} IN (\${${variable}:singlequote}), $${variable})`;
}

/** Rows of any table that the variables choose. */
const CHOSEN_ROWS = `${chosen('Tenant', 'tenant')}
  AND ${chosen('Scorer', 'scorer')}`;

/** Scores that the variables choose. */
const CHOSEN_SCORES = [
  `Source = 'live'`,
  chosen('Tenant', 'tenant'),
  chosen('Scorer', 'scorer'),
  chosen('Agent', 'agent'),
  chosen('Environment', 'environment'),
].join('\n  AND ');

/** Shown time and the week before, with whose means its means are compared. */
const SHOWN_AND_BEFORE = 'Bucket >= $__fromTime - toIntervalDay(7) AND Bucket <= $__toTime';

/** Condition of groups with scores in the shown time: an ended series has nothing to compare. */
const IS_SHOWN = 'sumIf(Scores, Bucket >= $__fromTime) > 0';

/** Short form of a fingerprint, for readers: as in metrics and messages. */
const SHORT_FINGERPRINT = 'left(Fingerprint, 8)';

/** Number of fingerprints of a scorer and kind of target, among the rows of a statement with groups. */
const FINGERPRINTS = 'uniqExact(Fingerprint) OVER (PARTITION BY Scorer, Target) AS fingerprints';

/** Name of a series. A scorer that was changed has several: then each name has its fingerprint. */
const SERIES = `concat(toString(Scorer), if(Target = 'trace', '', concat(' of ', Target)),
  if(fingerprints > 1, concat(' ', ${SHORT_FINGERPRINT}), ''))`;

/** Returns the mean of the scores on one side of the shown time's beginning; NULL without scores. */
function meanWhere(condition: string): string {
  return `if(sumIf(Weight, ${condition}) > 0, sumIf(Total, ${condition}) / sumIf(Weight, ${condition}), NULL)`;
}

const MEAN_BEFORE = meanWhere('Bucket < $__fromTime');

/** Mean of all traffic: each score counts with its weight (docs/sql.md, query 3). */
const MEAN = 'sum(Total) / sum(Weight)';

/** The dashboard of scores: how good the agents are, and how much of their traffic is known. */
export const QUALITY_DASHBOARD: Dashboard = {
  uid: 'spanscore-quality',
  title: 'spanscore: quality',
  description: 'Weighted means of scores against the week before, versions of agents, and coverage.',
  variables: [
    {
      kind: 'datasource',
      name: 'datasource',
      label: 'ClickHouse',
      plugin: 'grafana-clickhouse-datasource',
    },
    ...(['Tenant', 'Scorer', 'Agent', 'Environment'] as const).map(
      (column) =>
        ({
          kind: 'sql',
          name: column.toLowerCase(),
          label: column,
          sql: `SELECT DISTINCT ${column} FROM score_days WHERE ${column} != '' ORDER BY ${column}`,
        }) as const,
    ),
  ],
  annotations: [
    {
      name: 'New versions',
      sql: `SELECT min(FirstSeen) AS time, 'new version' AS title,
  trim(concat(ServiceName, ' ', ServiceVersion, ' ', Agent, ' ', AgentVersion)) AS text
FROM deploy_markers
WHERE ${chosen('Tenant', 'tenant')}
  AND ${chosen('Agent', 'agent')}
GROUP BY ServiceName, ServiceVersion, Agent, AgentVersion
HAVING time >= $__fromTime AND time <= $__toTime
ORDER BY time`,
    },
  ],
  rows: [
    {
      title: 'Scores',
      panels: [
        timeSeries('Weighted mean and baseline', {
          description:
            'Mean of all traffic by the hour of the run: each score counts with its weight, so that a sample stands for what it was drawn from. A changed scorer, prompt or judge has another fingerprint and starts another line. The flat lines are the means of the week before the shown time, of the same fingerprint.',
          width: 16,
          unit: 'none',
          interval: '1h',
          targets: [
            sqlSeries(`SELECT time, ${SERIES} AS series, mean
FROM (
  SELECT $__timeInterval(Bucket) AS time, Scorer, Target, Fingerprint, ${MEAN} AS mean, ${FINGERPRINTS}
  FROM score_hours FINAL
  WHERE $__timeFilter(Bucket)
    AND ${CHOSEN_SCORES}
  GROUP BY time, Scorer, Target, Fingerprint
)
ORDER BY time`),
            sqlSeries(`SELECT arrayJoin([$__fromTime, $__toTime]) AS time, concat(${SERIES}, ', week before') AS series, before AS mean
FROM (
  SELECT Scorer, Target, Fingerprint, ${MEAN_BEFORE} AS before, ${FINGERPRINTS}
  FROM score_hours FINAL
  WHERE ${SHOWN_AND_BEFORE}
    AND ${CHOSEN_SCORES}
  GROUP BY Scorer, Target, Fingerprint
  HAVING ${IS_SHOWN}
)
WHERE before IS NOT NULL
ORDER BY time`),
          ],
        }),
        table('Against the week before', {
          description:
            'Each fingerprint against itself: a new one has no week before. Effective traces is the number of equally weighted traces with the same precision. Below about 30, a difference says little.',
          width: 8,
          unit: 'none',
          targets: [
            sqlTable(`SELECT Scorer, Target, ${SHORT_FINGERPRINT} AS "fingerprint",
  ${meanWhere('Bucket >= $__fromTime')} AS "mean",
  ${MEAN_BEFORE} AS "week before",
  "mean" - "week before" AS "difference",
  pow(sumIf(Weight, Bucket >= $__fromTime), 2) / sumIf(SquaredWeight, Bucket >= $__fromTime) AS "effective traces"
FROM score_hours FINAL
WHERE ${SHOWN_AND_BEFORE}
  AND ${CHOSEN_SCORES}
GROUP BY Scorer, Target, Fingerprint
HAVING ${IS_SHOWN}
ORDER BY Scorer, Target, max(Bucket) DESC`),
          ],
        }),
        timeSeries('Scores', {
          description: 'Scores by the hour of the run.',
          width: 12,
          unit: 'short',
          interval: '1h',
          stack: 'normal',
          targets: [
            sqlSeries(`SELECT $__timeInterval(Bucket) AS time, Scorer, sum(Scores) AS scores
FROM score_hours FINAL
WHERE $__timeFilter(Bucket)
  AND ${CHOSEN_SCORES}
GROUP BY time, Scorer
ORDER BY time`),
          ],
        }),
        table('Worst answers', {
          description: 'By the direction of each scorer. Reason is what the scorer said.',
          width: 12,
          unit: 'none',
          targets: [
            sqlTable(`SELECT TraceTimestamp AS time, Agent, Scorer, Score, Reason, TraceId
FROM scores FINAL
WHERE $__timeFilter(TraceTimestamp)
  AND HigherIsBetter IS NOT NULL
  AND ${CHOSEN_SCORES}
ORDER BY if(HigherIsBetter, Score, -Score), time DESC
LIMIT 20`),
          ],
        }),
      ],
    },
    {
      title: 'Coverage',
      panels: [
        timeSeries('Decisions', {
          description:
            'Share of each status, by the hour of the last span. Every trace has a decision for every rule and scorer. Only hours that have ended are here.',
          width: 12,
          unit: 'short',
          interval: '1h',
          stack: 'percent',
          targets: [
            sqlSeries(`SELECT $__timeInterval(Bucket) AS time, Status, sum(Decisions) AS decisions
FROM decision_hours FINAL
WHERE $__timeFilter(Bucket)
  AND ${CHOSEN_ROWS}
GROUP BY time, Status
ORDER BY time`),
          ],
        }),
        table('Why not scored', {
          description: 'docs/coverage.md says what each reason means, and how to run scorers again.',
          width: 12,
          unit: 'short',
          targets: [
            sqlTable(`SELECT Rule, Scorer, Status, Reason, sum(Decisions) AS decisions
FROM decision_hours FINAL
WHERE $__timeFilter(Bucket) AND Status != 'scored'
  AND ${CHOSEN_ROWS}
GROUP BY Rule, Scorer, Status, Reason
ORDER BY decisions DESC
LIMIT 50`),
          ],
        }),
      ],
    },
    {
      title: 'Money',
      panels: [
        timeSeries('Cost of judges by scorer', {
          description: 'Calls with a known price.',
          width: 24,
          unit: 'currencyUSD',
          interval: '1h',
          stack: 'normal',
          targets: [
            sqlSeries(`SELECT $__timeInterval(CalledAt) AS time, Scorer, sum(CostUsd) AS cost
FROM judge_calls
WHERE $__timeFilter(CalledAt)
  AND ${CHOSEN_ROWS}
GROUP BY time, Scorer
ORDER BY time`),
          ],
        }),
      ],
    },
  ],
};
