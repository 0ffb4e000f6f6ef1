// Program checker reads files of deploy/ with the libraries of the tools that would run them.
//
//	checker compose FILE       loads a file of Docker Compose, prints the project as JSON
//	checker kustomize FOLDER   builds a kustomization, prints the manifests as YAML
//	checker operator FILE      reads the manifests of the Prometheus operator in a file, prints their kinds
//	checker dockerfile FILE    plans each stage of a Dockerfile as BuildKit does, prints the names of the stages
//	checker rules FILE         parses the rules of Prometheus 3, prints their number
//	checker adapter FILE       loads the external rules of prometheus-adapter, prints the query of each metric as JSON
//	checker dashboard FILE     reads a dashboard into the types of Grafana, prints the number of its panels
//	checker alerting FILE      reads the alert rules of Grafana into its types, prints their number
//
// It prints the error and ends with 1 when the tool would refuse the file.
package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	commands := map[string]func(string) ([]byte, error){
		"compose":    loadCompose,
		"kustomize":  buildKustomization,
		"operator":   readOperatorKinds,
		"dockerfile": planDockerfile,
		"rules":      parseRules,
		"adapter":    loadAdapterRules,
		"dashboard":  readDashboard,
		"alerting":   readAlertRules,
	}
	names := strings.Join(slices.Sorted(maps.Keys(commands)), " | ")
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: checker %s PATH", names))
	}
	command, known := commands[os.Args[1]]
	if !known {
		fail(fmt.Errorf("unknown command %q: use %s", os.Args[1], names))
	}
	output, err := command(os.Args[2])
	if err != nil {
		fail(err)
	}
	os.Stdout.Write(output)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func loadCompose(file string) ([]byte, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	return project.MarshalJSON()
}

func buildKustomization(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

// readOperatorKinds reads each manifest of the operator into its type. A field that the type does not have is an error.
func readOperatorKinds(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	types := map[string]func() any{
		"PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
		"ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
	}
	var kinds bytes.Buffer
	for _, manifest := range bytes.Split(text, []byte("\n---\n")) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(manifest, &head); err != nil {
			return nil, err
		}
		if head.APIVersion != monitoring.SchemeGroupVersion.String() {
			continue
		}
		create, known := types[head.Kind]
		if !known {
			return nil, fmt.Errorf("unknown kind %q of the Prometheus operator: add its type to the checker", head.Kind)
		}
		if err := yaml.UnmarshalStrict(manifest, create()); err != nil {
			return nil, fmt.Errorf("%s: %w", head.Kind, err)
		}
		fmt.Fprintln(&kinds, head.Kind)
	}
	return kinds.Bytes(), nil
}
