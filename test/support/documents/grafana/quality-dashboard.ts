import { sqlSeries, sqlTable, table, timeSeries, type Dashboard } from './dashboard.ts';

/** Condition of a variable of which several values, or all, may be chosen. */
function chosen(column: string, variable: string): string {
  return `$__conditionalAll(${column} IN (\${${variable}:singlequote}), $${variable})`;
}

/** Scores that the variables choose. */
const CHOSEN_SCORES = [
  `Source = 'live'`,
  chosen('Scorer', 'scorer'),
  chosen('Agent', 'agent'),
  chosen('Environment', 'environment'),
].join('\n  AND ');

/** The week before the shown time is what its means are compared with. */
const BEFORE = 'Bucket >= $__fromTime - toIntervalDay(7) AND Bucket < $__fromTime';

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
    ...(['Scorer', 'Agent', 'Environment'] as const).map(
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
WHERE ${chosen('Agent', 'agent')}
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
            'Mean of all traffic by the hour of the run: each score counts with its weight, so that a sample stands for what it was drawn from. The flat lines are the means of the week before the shown time.',
          width: 16,
          unit: 'none',
          interval: '1h',
          targets: [
            sqlSeries(`SELECT $__timeInterval(Bucket) AS time, Scorer, ${MEAN} AS mean
FROM score_hours FINAL
WHERE $__timeFilter(Bucket)
  AND ${CHOSEN_SCORES}
GROUP BY time, Scorer
ORDER BY time`),
            sqlSeries(`SELECT arrayJoin([$__fromTime, $__toTime]) AS time, concat(Name, ', week before') AS Scorer, mean
FROM (
  SELECT toString(Scorer) AS Name, ${MEAN} AS mean
  FROM score_hours FINAL
  WHERE ${BEFORE}
    AND ${CHOSEN_SCORES}
  GROUP BY Name
)
ORDER BY time`),
          ],
        }),
        table('Against the week before', {
          description:
            'Effective traces is the number of equally weighted traces with the same precision. Below about 30, a difference says little.',
          width: 8,
          unit: 'none',
          targets: [
            sqlTable(`SELECT Scorer,
  sumIf(Total, Bucket >= $__fromTime) / sumIf(Weight, Bucket >= $__fromTime) AS "mean",
  sumIf(Total, Bucket < $__fromTime) / sumIf(Weight, Bucket < $__fromTime) AS "week before",
  "mean" - "week before" AS "difference",
  pow(sumIf(Weight, Bucket >= $__fromTime), 2) / sumIf(SquaredWeight, Bucket >= $__fromTime) AS "effective traces"
FROM score_hours FINAL
WHERE Bucket >= $__fromTime - toIntervalDay(7) AND Bucket <= $__toTime
  AND ${CHOSEN_SCORES}
GROUP BY Scorer
ORDER BY Scorer`),
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
  AND ${chosen('Scorer', 'scorer')}
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
  AND ${chosen('Scorer', 'scorer')}
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
  AND ${chosen('Scorer', 'scorer')}
GROUP BY time, Scorer
ORDER BY time`),
          ],
        }),
      ],
    },
  ],
};
