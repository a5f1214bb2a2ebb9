// Command image makes an OCI image of the agent from programs that are built already:
// without a daemon and without root, and with the same bytes from the same input. The
// result is an archive with an OCI layout for amd64 and arm64.
//
// It is a module of its own, so that its requirements are not those of programs that
// import the agent.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var s settings
	var created int64
	flag.StringVar(&s.programs, "programs", "", "`directory` with the programs, in amd64 and arm64")
	flag.StringVar(&s.license, "license", "", "`file` of the license")
	flag.StringVar(&s.version, "version", "", "version of the programs")
	flag.StringVar(&s.revision, "revision", "", "commit of the programs")
	flag.Int64Var(&created, "created", -1, "time of the commit, in `seconds` since 1970")
	flag.StringVar(&s.out, "out", "", "`file` to write the image to")
	flag.Parse()
	s.created = time.Unix(created, 0).UTC()
	if s.programs == "" || s.license == "" || s.version == "" || s.out == "" || created < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "image: expected -programs, -license, -version, -created and -out")
		flag.Usage()
		os.Exit(2)
	}
	if err := build(s); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// settings say what the image is made of.
type settings struct {
	programs, license string // directory, file
	version, revision string
	created           time.Time
	out               string
}

// architectures are those of the image.
var architectures = []string{"amd64", "arm64"}

// build writes the image.
func build(s settings) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := s.image(arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	index, ok := mutate.Annotations(index, s.labels()).(v1.ImageIndex)
	if !ok {
		return fmt.Errorf("the annotated index is %T", index)
	}
	dir, err := os.MkdirTemp(filepath.Dir(s.out), ".image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The name of the image in the archive, for podman, skopeo and containerd.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": s.version})); err != nil {
		return err
	}
	return s.archive(dir)
}

// labels describe the image; they are those of the OCI image specification.
func (s settings) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "vpp-agent",
		"org.opencontainers.image.description": "Agent that configures FD.io VPP and the networking of Linux",
		"org.opencontainers.image.source":      "https://github.com/tenuto-dev/tenuto",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     s.version,
		"org.opencontainers.image.revision":    s.revision,
		"org.opencontainers.image.created":     s.created.Format(time.RFC3339),
	}
}

// image is that of one architecture.
func (s settings) image(arch string) (v1.Image, error) {
	layer, err := s.layer(arch)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "make image", Comment: "programs, certificates of authorities"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: s.created}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/vpp-agent"},
		Cmd:        []string{"--config-dir=/etc/vpp-agent", "--state-dir=/var/lib/vpp-agent"},
		Env:        []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		// The agent configures the network: it needs CAP_NET_ADMIN and others, and
		// container engines give a user other than root no capabilities.
		User:         "0:0",
		WorkingDir:   "/",
		StopSignal:   "SIGTERM",
		ExposedPorts: map[string]struct{}{"9191/tcp": {}, "9111/tcp": {}},
		Labels:       s.labels(),
	}
	return mutate.ConfigFile(image, config)
}
