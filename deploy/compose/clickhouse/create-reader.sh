#!/bin/bash
# Makes the user of Grafana at the first start: it may only read (docs/sql.md, "Readers").
set -euo pipefail
clickhouse client --user "$CLICKHOUSE_USER" --password "$CLICKHOUSE_PASSWORD" --multiquery <<SQL
CREATE ROLE IF NOT EXISTS spanscore_reader;
GRANT SELECT ON spanscore.* TO spanscore_reader;
REVOKE SELECT ON spanscore.cookie_keys FROM spanscore_reader;
CREATE USER IF NOT EXISTS grafana IDENTIFIED BY '${CLICKHOUSE_READER_PASSWORD}' DEFAULT ROLE spanscore_reader
  SETTINGS readonly = 2, max_execution_time = 60 MAX 60;
GRANT spanscore_reader TO grafana;
SQL
