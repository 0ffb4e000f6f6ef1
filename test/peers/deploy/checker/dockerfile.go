package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

const baseImage = "docker.io/library/node:"

// baseImages answers for the registry, which no test asks. A name that is no stage is looked up as an image, so it knows the base alone.
type baseImages struct{}

func (baseImages) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	if !strings.HasPrefix(ref, baseImage) {
		return "", "", nil, fmt.Errorf("%s is neither a stage nor the base image %s", ref, baseImage)
	}
	config := []byte(`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers"}}`)
	return ref, digest.FromBytes(config), config, nil
}

// planDockerfile plans all stages. Each warning of BuildKit is an error here.
func planDockerfile(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	source := llb.NewSourceMap(nil, file, "Dockerfile", text)
	source.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(context.Background(), text, dockerfile2llb.ConvertOpt{
		MetaResolver: baseImages{},
		SourceMap:    source,
	})
	if err != nil {
		return nil, err
	}
	var faults []error
	if results.Error != nil {
		faults = append(faults, errors.New(results.Error.Message))
	}
	for _, warning := range results.Warnings {
		faults = append(faults, fmt.Errorf("%s: %s", warning.RuleName, warning.Detail))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	targets, err := dockerfile2llb.ListTargets(context.Background(), text)
	if err != nil {
		return nil, err
	}
	var names bytes.Buffer
	for _, target := range targets.Targets {
		fmt.Fprintln(&names, target.Name)
	}
	return names.Bytes(), nil
}
