package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	adapterclient "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
	"sigs.k8s.io/yaml"
)

const autoscaledNamespace = "spanscore"

// loadAdapterRules reads the values of the chart as the adapter gets them, and asks it for each metric in one namespace.
func loadAdapterRules(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var values struct {
		Rules struct {
			External []any `json:"external"`
		} `json:"rules"`
	}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, err
	}
	rendered, err := yaml.Marshal(map[string]any{"externalRules": values.Rules.External})
	if err != nil {
		return nil, err
	}
	discovery, err := config.FromYAML(rendered)
	if err != nil {
		return nil, err
	}
	core := schema.GroupVersion{Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{core})
	mapper.Add(core.WithKind("Namespace"), meta.RESTScopeRoot)
	namers, err := naming.NamersFromConfig(discovery.ExternalRules, mapper)
	if err != nil {
		return nil, err
	}
	queries := map[string]string{}
	for _, namer := range namers {
		series, err := readSeries(namer.Selector())
		if err != nil {
			return nil, err
		}
		metric, err := namer.MetricNameForSeries(series)
		if err != nil {
			return nil, err
		}
		query, err := namer.QueryForExternalSeries(series.Name, autoscaledNamespace, labels.Everything())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metric, err)
		}
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(string(query)); err != nil {
			return nil, fmt.Errorf("%s: %w", metric, err)
		}
		queries[metric] = string(query)
	}
	return json.Marshal(queries)
}

// readSeries returns a series that a selector of one metric name finds.
func readSeries(selector adapterclient.Selector) (adapterclient.Series, error) {
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(string(selector))
	if err != nil {
		return adapterclient.Series{}, err
	}
	for _, matcher := range matchers {
		if matcher.Name == "__name__" {
			return adapterclient.Series{Name: matcher.Value}, nil
		}
	}
	return adapterclient.Series{}, fmt.Errorf("%s has no name of a metric: name one in seriesQuery", selector)
}
