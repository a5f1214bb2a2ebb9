// Package simulator is a plugin for programs that need a VPP, such as tutorials: where none
// runs, a simulated one takes its place.
package simulator

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// Plugin makes sure that there is a VPP to talk to: where no process listens on the
// socket, it runs a simulated one. govppmux asks it where.
type Plugin struct {
	infra.PluginDeps
	socket string
	dir    string // of the simulator's socket; "": there is a VPP
	vpp    *vppsim.VPP
}

var _ govppmux.LocalVPP = (*Plugin)(nil)

// NewPlugin returns the plugin.
func NewPlugin() *Plugin {
	p := &Plugin{}
	p.SetName("simulator")
	return p
}

// DefineFlags adds --vpp-socket.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.socket, "vpp-socket", binapi.DefaultSocket, "`path` of the socket of VPP; a simulator answers if no process listens on it")
}

// Init looks whether there is a VPP.
func (p *Plugin) Init() (err error) {
	if conn, err := net.Dial("unix", p.socket); err == nil {
		return conn.Close()
	}
	if p.dir, err = os.MkdirTemp("", "vppsim-"); err != nil {
		return err
	}
	p.socket = filepath.Join(p.dir, "api.sock")
	p.vpp = vppsim.New(vppsim.Options{})
	if err := p.vpp.ListenUnix(p.socket); err != nil {
		return errors.Join(err, os.RemoveAll(p.dir))
	}
	p.Log.Info("there is no VPP, a simulator takes its place")
	return nil
}

// Socket is where VPP, or the simulator, listens.
func (p *Plugin) Socket() string { return p.socket }

// Close ends the simulator.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	if p.dir == "" {
		return nil
	}
	return errors.Join(p.vpp.Close(), os.RemoveAll(p.dir))
}
