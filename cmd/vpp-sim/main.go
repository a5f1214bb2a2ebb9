// Command vpp-sim is a simulated VPP as a separate process: it serves VPP's
// binary API on a unix socket. Control commands on standard input or on a
// second socket make it fail in the ways a VPP fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// options are the command-line options.
type options struct {
	socket         string
	control        string
	release        string
	hostInterfaces bool
	devices        []string
	journal        int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "vpp-sim: %v\n", err)
		os.Exit(1)
	}
}

// parse parses the command line.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := pflag.NewFlagSet("vpp-sim", pflag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.socket, "socket", "/run/vpp/api.sock", "unix socket of the binary API")
	flags.StringVar(&o.control, "control", "", "unix socket for control commands, besides standard input")
	flags.StringVar(&o.release, "release", "25.10", "VPP release whose messages are known: "+strings.Join(binding.Releases(), ", "))
	flags.BoolVar(&o.hostInterfaces, "host-interfaces", false, "refuse AF_PACKET on host interfaces that do not exist")
	flags.StringSliceVar(&o.devices, "device", nil, "`name` of a network card that VPP finds, such as GigabitEthernet0/8/0; may be repeated")
	flags.IntVar(&o.journal, "journal", 1000, "requests kept for the journal command")
	flags.Usage = func() {
		fmt.Fprintf(out, "vpp-sim answers VPP's binary API without VPP.\n\nFlags:\n%s\nControl commands:\n%s\n", flags.FlagUsages(), vppsim.ControlHelp)
	}
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, err
}

// run serves until the context ends.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	table, err := binding.Release(o.release)
	if err != nil {
		return err
	}
	opts := vppsim.Options{Release: table, Version: o.release + "-simulated", JournalSize: o.journal, Devices: o.devices}
	if o.hostInterfaces {
		opts.HostInterface = hostInterfaceExists
	}
	vpp := vppsim.New(opts)
	defer func() { err = errors.Join(err, vpp.Close()) }()
	if err := os.MkdirAll(filepath.Dir(o.socket), 0o755); err != nil {
		return fmt.Errorf("make the directory of the socket: %w", err)
	}
	if err := vpp.ListenUnix(o.socket); err != nil {
		return err
	}
	fmt.Fprintf(out, "simulated VPP %s on %s\n", o.release, o.socket)
	if o.control == "" {
		controlByInput(vpp, in, out)
		<-ctx.Done()
		return nil
	}
	ln, err := vppsim.ListenControl(o.control)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "control commands on %s\n", o.control)
	controlByInput(vpp, in, out)
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	return vpp.ServeControl(ln)
}

func hostInterfaceExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// controlByInput runs commands from standard input in the background. The input
// may end early, as for a service.
func controlByInput(vpp *vppsim.VPP, in io.Reader, out io.Writer) {
	go func() {
		// A read from a terminal cannot be cancelled; it ends with the process.
		if err := vpp.Control(in, out, false); err != nil {
			fmt.Fprintf(out, "error: %v\n", err)
		}
	}()
}
