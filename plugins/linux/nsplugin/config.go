package nsplugin

import (
	"path/filepath"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/internal/containers"
)

// Config is linux-nsplugin.conf.
type Config struct {
	Disabled          bool   `yaml:"disabled" desc:"leave Linux alone; its items wait"`
	DockerSocket      string `yaml:"docker-socket" desc:"the socket of a container engine with the API of Docker (Docker, Podman), which reports the network namespaces of containers (type MICROSERVICE); empty: none; an engine that is not there is tried again"`
	CRISocket         string `yaml:"cri-socket" desc:"the same for an engine with the Container Runtime Interface of Kubernetes (containerd, CRI-O), such as /run/containerd/containerd.sock; empty: none"`
	MicroservicesFile string `yaml:"microservices-file" desc:"a YAML file that lists the number of a process in the network namespace of each container by its label (\"web: 1234\"), for containers without such engines; changes are followed"`
	GoRoutinesCount   int    `yaml:"go-routines-count" desc:"accepted from existing configurations, without effect"`
}

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config {
	return Config{DockerSocket: "/var/run/docker.sock", GoRoutinesCount: 10}
}

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.GoRoutinesCount >= 1, "go-routines-count: %d, expected 1 or more", c.GoRoutinesCount)
	for _, path := range [...]struct{ option, value string }{{"docker-socket", c.DockerSocket}, {"cri-socket", c.CRISocket}, {"microservices-file", c.MicroservicesFile}} {
		check.Expect(path.value == "" || filepath.IsAbs(path.value), "%s: %q, expected an absolute path", path.option, path.value)
	}
	return check.Err()
}

// sources returns the sources that report which containers run.
func (c Config) sources() (all []containers.Source) {
	if c.DockerSocket != "" {
		all = append(all, containers.Docker(c.DockerSocket, containers.RequestTimeout))
	}
	if c.CRISocket != "" {
		all = append(all, containers.CRI(c.CRISocket, containers.RequestTimeout))
	}
	if c.MicroservicesFile != "" {
		all = append(all, containers.File(c.MicroservicesFile))
	}
	return all
}
