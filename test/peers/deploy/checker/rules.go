package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// parseRules reads rules as the version of deploy/compose does. promtool runs their unit tests: its runner is in no package to import.
func parseRules(file string) ([]byte, error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	count := 0
	for _, group := range groups.Groups {
		count += len(group.Rules)
	}
	return fmt.Appendln(nil, count), nil
}
