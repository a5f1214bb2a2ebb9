package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/process"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// LocalVPP runs a VPP that belongs to the agent: a simulated one inside the
// agent's process, or with --start-vpp a real one as its child, for tests and
// for trying out. Without the flags it does nothing, and the agent connects to
// the VPP in govpp.conf.
type LocalVPP struct {
	infra.PluginDeps
	Processes  *process.Plugin
	Simulation *Simulation

	program, extra string // flags

	dir  tempDir // with the sockets; without path: no VPP is run
	sim  *vppsim.VPP
	proc *process.Process
}

var _ govppmux.LocalVPP = (*LocalVPP)(nil)

func newLocalVPP(simulation *Simulation) *LocalVPP {
	p := &LocalVPP{Processes: process.NewPlugin(), Simulation: simulation}
	p.SetName("local-vpp")
	return p
}

const (
	simulateFlag = "simulate"
	startFlag    = "start-vpp"
	configFlag   = "start-vpp-config"
)

// DefineFlags adds --start-vpp and --start-vpp-config.
func (p *LocalVPP) DefineFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.program, startFlag, p.program, "start the VPP executable `file`, and stop it at the end")
	fs.StringVar(&p.extra, configFlag, p.extra, "`file` with more startup configuration of the VPP that --start-vpp starts")
}

// Init starts the VPP, if requested.
func (p *LocalVPP) Init() (err error) {
	simulate := p.Simulation.SimulatesVPP()
	switch {
	case simulate && p.program != "":
		return fmt.Errorf("--%s and --%s: expected only one of them", simulateFlag, startFlag)
	case p.program == "" && p.extra != "":
		return fmt.Errorf("--%s without --%s: expected both, since it is for the VPP that the agent starts", configFlag, startFlag)
	case !simulate && p.program == "":
		return nil
	}
	if p.dir, err = newTempDir(); err != nil {
		return fmt.Errorf("directory for the sockets of VPP: %w", err)
	}
	if simulate {
		err = p.startSimulator()
	} else {
		err = p.startProcess()
	}
	if err != nil {
		return errors.Join(err, p.dir.remove())
	}
	return nil
}

// Socket returns the socket of the binary API; see govppmux.LocalVPP.
func (p *LocalVPP) Socket() string {
	if p.dir.path == "" {
		return ""
	}
	return filepath.Join(p.dir.path, "api.sock")
}

// StatsSocket returns the socket of the stats segment; the simulator has none.
func (p *LocalVPP) StatsSocket() string {
	if p.dir.path == "" || p.sim != nil {
		return ""
	}
	return filepath.Join(p.dir.path, "stats.sock")
}

// Simulator returns the simulated VPP; nil if the agent runs none.
func (p *LocalVPP) Simulator() *vppsim.VPP { return p.sim }

// Close stops the VPP.
func (p *LocalVPP) Close() error {
	p.StopGoroutines()
	if p.dir.path == "" {
		return nil
	}
	var err error
	if p.sim != nil {
		err = p.sim.Close()
	}
	if p.proc != nil {
		err = p.proc.Stop(context.Background()) // stopPatience limits it
	}
	return errors.Join(err, p.dir.remove())
}

func (p *LocalVPP) startSimulator() error {
	var opts vppsim.Options
	p.Simulation.host(&opts)
	p.sim = vppsim.New(opts)
	if err := p.sim.ListenUnix(p.Socket()); err != nil {
		return fmt.Errorf("simulated VPP: %w", err)
	}
	p.Log.Info("VPP is simulated: its state is kept, no packets are forwarded", "socket", p.Socket())
	p.Health.OK("VPP is simulated")
	return nil
}

// startProcess starts VPP and restarts it until the plugin is closed.
func (p *LocalVPP) startProcess() error {
	program, err := filepath.Abs(p.program)
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", startFlag, err)
	}
	text := startupConf(p.dir.path)
	if p.extra != "" {
		more, err := os.ReadFile(p.extra)
		if err != nil {
			return fmt.Errorf("--%s: %w", configFlag, err)
		}
		text += string(more) // VPP joins sections of the same name
	}
	conf := filepath.Join(p.dir.path, "startup.conf")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configuration of VPP: %w", err)
	}
	return p.keepRunning(program, conf)
}

// startupConf returns a minimal configuration of VPP for a machine without
// huge pages and spare cores, beside other instances.
func startupConf(dir string) string {
	return fmt.Sprintf(`unix {
  nodaemon
  nosyslog
  nocolor
  nobanner
  cli-no-pager
  poll-sleep-usec 100
  runtime-dir %[1]s
  cli-listen %[1]s/cli.sock
  log %[1]s/vpp.log
}
api-segment { prefix %[2]s }
socksvr { socket-name %[1]s/api.sock }
statseg { socket-name %[1]s/stats.sock size 32M page-size 4K per-node-counters on }
punt { socket %[1]s/punt.sock }
memory { main-heap-size 512M main-heap-page-size default }
buffers { buffers-per-numa 8192 page-size default }
physmem { max-size 1G }
plugins { plugin dpdk_plugin.so { disable } }
`, dir, filepath.Base(dir))
}
