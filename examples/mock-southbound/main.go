// Command mock-southbound shows what the KV Scheduler does, hands on: small
// replicas of the interface and the L2 plugin configure a switch in memory,
// which prints every operation instead of executing it.
//
//	go run ./examples/mock-southbound          # a menu
//	go run ./examples/mock-southbound -demo    # all scenarios, one after the other
//	go run ./examples/mock-southbound -log     # with the transaction log
//
// Where the standard input is no terminal the scenarios run as with -demo.
// Begin to read in scenarios.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
)

func main() {
	demo := flag.Bool("demo", false, "run all scenarios and exit")
	log := flag.Bool("log", false, "print the transaction log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	input := io.Reader(os.Stdin)
	if *demo || !isTerminal(os.Stdin) {
		input = nil
	}
	if err := run(ctx, input, os.Stdout, *log); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// isTerminal: a terminal is a character device, but so is the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// run starts the agent and plays what the input asks for; everything, if there
// is no input.
func run(ctx context.Context, input io.Reader, out io.Writer, log bool, opts ...agent.Option) (err error) {
	conf := kvscheduler.DefaultConfig()
	if !log {
		conf.PrintTxnSummary = kvscheduler.PrintNever
	}
	scheduler := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(out))
	sb := southbound.New(out)
	interfaces := ifplugin.NewPlugin(ifplugin.UseDeps(func(d *ifplugin.Deps) { d.Scheduler, d.Southbound = scheduler, sb }))
	l2 := l2plugin.NewPlugin(l2plugin.UseDeps(func(d *l2plugin.Deps) { d.Scheduler, d.Southbound = scheduler, sb }))
	a := agent.NewAgent(append(opts, agent.QuitSignals(), agent.AllPlugins(interfaces, l2))...)
	if err := a.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	p := &player{scheduler: scheduler, sb: sb, out: out}
	if input == nil {
		return p.playAll(ctx)
	}
	return p.menu(ctx, lines(input))
}

// lines reads the input in a goroutine, because nothing ends the reading of a
// terminal; it ends with the input or with the process.
func lines(input io.Reader) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		for s := bufio.NewScanner(input); s.Scan(); {
			ch <- strings.TrimSpace(s.Text())
		}
	}()
	return ch
}

// menu plays one scenario after the other as the user likes.
func (p *player) menu(ctx context.Context, input <-chan string) error {
	all := scenarios()
	for {
		fmt.Fprintln(p.out, "\nScenarios:")
		for i, s := range all {
			fmt.Fprintf(p.out, "  %d  %s\n", i+1, s.title)
		}
		fmt.Fprint(p.out, "  a  all of them\n  s  show the southbound and the states of values\n  q  quit\n> ")
		var answer string
		var more bool
		select {
		case <-ctx.Done():
			return nil
		case answer, more = <-input:
			if !more {
				return nil
			}
		}
		switch n, err := strconv.Atoi(answer); {
		case answer == "q":
			return nil
		case answer == "a":
			if err := p.playAll(ctx); err != nil {
				return err
			}
		case answer == "s":
			p.show()
		case err != nil || n < 1 || n > len(all):
			fmt.Fprintf(p.out, "%q: expected a number from 1 to %d, a, s or q\n", answer, len(all))
		default:
			if err := p.play(ctx, all[n-1]); err != nil {
				return err
			}
		}
	}
}
