"""Reads queries whole with clickhouse-connect as it is by default, and prints the rows as JSON: as a list and from pandas."""

import datetime
import decimal
import ipaddress
import json
import sys
import uuid

import clickhouse_connect
import pandas

EPOCH = datetime.datetime(1970, 1, 1)


def nanoseconds(moment):
    """Times have no zone, or UTC."""
    if isinstance(moment, pandas.Timestamp):
        return str(moment.as_unit("ns").value)
    return str((moment.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1) * 1000)


def plain(value):
    """Whole numbers as text, times as nanoseconds since 1970 in text, dates as YYYY-MM-DD, tuples as lists."""
    if value is None or value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return [plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, (datetime.datetime, bytes)):
        value = value.item()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool) or isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, datetime.datetime):
        return nanoseconds(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return str(value)
    raise TypeError(f"{type(value)}: {value!r}")


def streamed(client, query):
    with client.query_row_block_stream(query) as blocks:
        return [row for block in blocks for row in block]


def reading(client, query):
    frame = client.query_df(query)
    return {
        "query": plain(client.query(query).result_rows),
        "stream": plain(streamed(client, query)),
        "pandas": [plain(row) for row in frame.itertuples(index=False, name=None)],
    }


asked = json.load(sys.stdin)
where = {"host": "127.0.0.1", **asked["address"]}
runs = []
for run in asked["runs"]:
    # With no compression asked for, all is as it is by default.
    compress = {} if run["compression"] == "default" else {"compress": run["compression"]}
    with clickhouse_connect.get_client(**where, **compress) as client:
        runs.append([reading(client, query) for query in run["queries"]])
with clickhouse_connect.get_client(**where) as client:
    command = client.command("SELECT 42")
    client.command("CREATE TABLE written (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    client.insert("written", [[1, "one"], [2, "two"]], column_names=["a", "b"])
    client.insert_df("written", pandas.DataFrame({"a": [3], "b": ["three"]}))
    # A session has no effect: it is accepted.
    client.command("SET max_block_size = 77")
    written = client.command("SELECT count() FROM written")
json.dump({"runs": runs, "command": command, "written": written}, sys.stdout)
