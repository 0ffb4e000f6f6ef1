// Reads tables whole with clickhouse-go over HTTP, as Grafana's plug-in does, and prints the rows as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

type request struct {
	Address     string   `json:"address"`
	Username    string   `json:"username"`
	Password    string   `json:"password"`
	Database    string   `json:"database"`
	Compression string   `json:"compression"`
	Queries     []string `json:"queries"`
}

var compressions = map[string]clickhouse.CompressionMethod{
	"none": clickhouse.CompressionNone, "lz4": clickhouse.CompressionLZ4, "zstd": clickhouse.CompressionZSTD,
	"gzip": clickhouse.CompressionGZIP, "deflate": clickhouse.CompressionDeflate, "br": clickhouse.CompressionBrotli,
}

func main() {
	var asked request
	check(json.NewDecoder(os.Stdin).Decode(&asked))
	connection, err := clickhouse.Open(&clickhouse.Options{
		Addr:        []string{asked.Address},
		Protocol:    clickhouse.HTTP,
		Auth:        clickhouse.Auth{Database: asked.Database, Username: asked.Username, Password: asked.Password},
		Compression: &clickhouse.Compression{Method: compressions[asked.Compression]},
		Settings:    clickhouse.Settings{"max_execution_time": 60},
	})
	check(err)
	check(connection.Ping(context.Background()))
	var replies [][][]any
	for _, query := range asked.Queries {
		replies = append(replies, rowsOf(connection, query))
	}
	check(json.NewEncoder(os.Stdout).Encode(replies))
}

func rowsOf(connection clickhouse.Conn, query string) [][]any {
	rows, err := connection.Query(context.Background(), query)
	check(err)
	defer rows.Close()
	types := rows.ColumnTypes()
	all := [][]any{}
	for rows.Next() {
		targets := make([]any, len(types))
		for at, column := range types {
			targets[at] = reflect.New(column.ScanType()).Interface()
		}
		check(rows.Scan(targets...))
		row := make([]any, len(types))
		for at, target := range targets {
			row[at] = plain(reflect.ValueOf(target).Elem(), types[at].DatabaseTypeName())
		}
		all = append(all, row)
	}
	check(rows.Err())
	return all
}

// Whole numbers as text, times as nanoseconds since 1970 in text, dates as YYYY-MM-DD, tuples as lists.
func plain(value reflect.Value, column string) any {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return plain(value.Elem(), column)
	case reflect.Bool:
		return value.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(value.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return value.Float()
	case reflect.String:
		return value.String()
	case reflect.Map:
		plainMap := map[string]any{}
		for _, key := range value.MapKeys() {
			plainMap[key.String()] = plain(value.MapIndex(key), column)
		}
		return plainMap
	}
	if moment, isTime := value.Interface().(time.Time); isTime {
		if column == "Date" || column == "Date32" {
			return moment.Format("2006-01-02")
		}
		return strconv.FormatInt(moment.UnixNano(), 10)
	}
	if text, isText := value.Interface().(fmt.Stringer); isText {
		return text.String()
	}
	list := []any{}
	for at := range value.Len() {
		list = append(list, plain(value.Index(at), column))
	}
	return list
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
