package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/grafana/grafana-foundation-sdk/go/alerting"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/expr"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"sigs.k8s.io/yaml"
)

var addedByGrafana = regexp.MustCompile(`^panels\[\d+\]\.options\.[\w.]+: required field is missing from input$`)

// registerTypes makes known the panels and queries that our files have. Queries to plugins that Grafana has not itself stay unchecked.
func registerTypes() {
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(table.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
}

func readDashboard(file string) ([]byte, error) {
	registerTypes()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read dashboard.Dashboard
	if err := findFaults(read.UnmarshalJSONStrict(text)); err != nil {
		return nil, err
	}
	if err := findFaults(read.Validate()); err != nil {
		return nil, err
	}
	var list struct {
		Panels []struct {
			Type string `json:"type"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, panel := range list.Panels {
		if _, known := cog.ConfigForPanelcfgVariant(panel.Type); !known && panel.Type != "row" {
			return nil, fmt.Errorf("unknown type of a panel %q: add it to the checker", panel.Type)
		}
	}
	return fmt.Appendln(nil, len(list.Panels)), nil
}

// alertFile is a file of provisioned alerts. What it says of a group, the types of Grafana have in each rule.
type alertFile struct {
	APIVersion int `json:"apiVersion"`
	Groups     []struct {
		OrgID    int64            `json:"orgId"`
		Name     string           `json:"name"`
		Folder   string           `json:"folder"`
		Interval string           `json:"interval"`
		Rules    []map[string]any `json:"rules"`
	} `json:"groups"`
}

func readAlertRules(file string) ([]byte, error) {
	registerTypes()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var alerts alertFile
	if err := yaml.UnmarshalStrict(text, &alerts); err != nil {
		return nil, err
	}
	count := 0
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			rule["orgID"], rule["folderUID"], rule["ruleGroup"] = group.OrgID, group.Folder, group.Name
			if err := readAlertRule(rule); err != nil {
				return nil, fmt.Errorf("%v: %w", rule["title"], err)
			}
			count++
		}
	}
	return fmt.Appendln(nil, count), nil
}

func readAlertRule(rule map[string]any) error {
	raw, err := json.Marshal(rule)
	if err != nil {
		return err
	}
	var read alerting.Rule
	if err := findFaults(read.UnmarshalJSONStrict(raw)); err != nil {
		return err
	}
	if err := findFaults(read.Validate()); err != nil {
		return err
	}
	var queries struct {
		Data []struct {
			DatasourceUID string          `json:"datasourceUid"`
			Model         json.RawMessage `json:"model"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &queries); err != nil {
		return err
	}
	for _, query := range queries.Data {
		if err := readQuery(query.DatasourceUID, query.Model); err != nil {
			return err
		}
	}
	return nil
}

// readQuery reads a query of an alert into the type of its data source: an expression of Grafana, else a query to Prometheus.
func readQuery(datasource string, model []byte) error {
	if datasource == "__expr__" {
		var read expr.Expr
		return findFaults(read.UnmarshalJSONStrict(model))
	}
	var read prometheus.Dataquery
	return findFaults(read.UnmarshalJSONStrict(model))
}

// findFaults leaves out what is no fault in a file: Grafana itself adds options of a panel that the file lacks.
func findFaults(err error) error {
	var all cog.BuildErrors
	if !errors.As(err, &all) {
		return err
	}
	var faults []error
	for _, each := range all {
		if !addedByGrafana.MatchString(each.Error()) {
			faults = append(faults, each)
		}
	}
	return errors.Join(faults...)
}
