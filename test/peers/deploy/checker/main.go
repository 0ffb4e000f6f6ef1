// Program checker reads files of deploy/ with the libraries of the tools that would run them.
//
//	checker compose FILE       loads a file of Docker Compose, prints the project as JSON
//	checker kustomize FOLDER   builds a kustomization, prints the manifests as YAML
//
// It prints the error and ends with 1 when the tool would refuse the file.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: checker compose FILE | checker kustomize FOLDER"))
	}
	commands := map[string]func(string) ([]byte, error){"compose": loadCompose, "kustomize": buildKustomization}
	command, known := commands[os.Args[1]]
	if !known {
		fail(fmt.Errorf("unknown command %q: use compose or kustomize", os.Args[1]))
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
