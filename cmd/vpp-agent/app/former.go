package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Former handles the flags and configuration files of the predecessor's plugins that
// this agent does not have: start commands of the predecessor work, or fail with the
// replacement.
type Former struct {
	infra.PluginDeps
	dir     *pflag.Flag
	answers []*formerPlugin
}

// formerPlugin is a plugin of the predecessor.
type formerPlugin struct {
	name    string
	answer  string // replacement of its configuration
	refused bool   // its flag is an error: without it the agent would lack its configuration
	value   string // of the flag
}

func newFormer() *Former {
	p := &Former{answers: formerPlugins()}
	p.SetName("former-settings")
	return p
}

func formerPlugins() []*formerPlugin {
	all := []*formerPlugin{
		{name: "cassandra", refused: true, answer: "there is no Cassandra; write the values into etcd (--etcd-config=etcd.conf), " +
			"Consul, Redis or a file (--filedb-config=filedb.conf)"},
		{name: "kafka", answer: "nothing is published to Kafka; 'status-publishers: [etcd]' in vpp-ifplugin.conf publishes the states of interfaces"},
		{name: "msgsync", answer: "nothing is published to Kafka; 'status-publishers: [etcd]' in vpp-ifplugin.conf publishes the states of interfaces"},
		{name: "resync", answer: "the agent synchronises by itself; 'agentctl config resync' does it again"},
		{name: "aggregator", answer: "'source-priority' in orchestrator.conf says which source wins"},
		{name: "restpapi", answer: "http.conf has the settings of the server"},
	}
	for _, name := range []string{
		"netalloc", "vpp-abfplugin", "vpp-aclplugin", "vpp-dnsplugin", "vpp-ipfixplugin", "vpp-ipsec-plugin", "vpp-natplugin",
		"vpp-punt-plugin", "vpp-stn-plugin", "vpp-srplugin", "vpp-wg-plugin",
	} {
		all = append(all, &formerPlugin{name: name, answer: "there is nothing to configure"})
	}
	return all
}

// DefineFlags adds the flags of the former plugins; the usage hides them.
func (p *Former) DefineFlags(fs *pflag.FlagSet) {
	p.dir = fs.Lookup(config.ConfigDirFlag)
	for _, f := range p.answers {
		if flag := f.name + "-config"; fs.Lookup(flag) == nil {
			fs.StringVar(&f.value, flag, "", "no effect: "+f.answer)
			_ = fs.MarkHidden(flag) // fails only for unknown flags
		}
	}
}

// Init logs the settings that have no effect, and returns an error for those that
// must be replaced.
func (p *Former) Init() error {
	var errs []error
	for _, f := range p.answers {
		switch flag := "--" + f.name + "-config"; {
		case f.value != "" && f.refused:
			errs = append(errs, fmt.Errorf("%s=%s: %s", flag, f.value, f.answer))
		case f.value != "":
			p.Log.Warn("flag has no effect", "flag", flag, "reason", f.answer)
		case p.exists(f.name + ".conf"):
			p.Log.Warn("configuration file is not read", "file", f.name+".conf", "reason", f.answer)
		}
	}
	return errors.Join(errs...)
}

// exists reports whether a file exists in the directory of configuration
// files.
func (p *Former) exists(name string) bool {
	if p.dir == nil {
		return false
	}
	_, err := os.Stat(filepath.Join(p.dir.Value.String(), name))
	return err == nil
}
