package kvscheduler_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// Transactions are printed with their planned operations, as the documents show them,
// unless a configuration says otherwise.
func TestPlannedOperationsArePrinted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change          func(*kvscheduler.Config)
		planned, result bool
	}{
		"by default":                 {func(*kvscheduler.Config) {}, true, true},
		"enable-txn-simulation off":  {func(c *kvscheduler.Config) { c.EnableTxnSimulation = false }, false, true},
		"print-txn-summary on":       {func(c *kvscheduler.Config) { c.PrintTxnSummary = kvscheduler.PrintAlways }, true, true},
		"print-txn-summary off":      {func(c *kvscheduler.Config) { c.PrintTxnSummary = kvscheduler.PrintNever }, false, false},
		"print-txn-summary off, too": {func(c *kvscheduler.Config) { c.PrintTxnSummary, c.EnableTxnSimulation = kvscheduler.PrintNever, false }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := printed(t, tc.change, 1)
			for text, want := range map[string]bool{
				"* planned operations:\n      1. CREATE:\n          - key: tap/0\n": tc.planned,
				"* executed operations (": tc.result,
			} {
				if got := strings.Contains(out, text); got != want {
					t.Errorf("%q is printed: %v, expected %v; all that is printed:\n%s", text, got, want, out)
				}
			}
		})
	}
}

// TestOutputIsLeftToServices runs itself with a pipe as the standard output, as services
// have it, and with a terminal.
func TestOutputIsLeftToServices(t *testing.T) {
	if mode := os.Getenv("PRINT_TXN_SUMMARY"); mode != "" {
		conf := kvscheduler.DefaultConfig()
		conf.PrintTxnSummary = mode
		s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf))
		agenttest.Start(t, s)
		if err := s.RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
			t.Fatal(err)
		}
		if err := commit(t, s, map[string]*model.Item{"tap/1": {}}); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, tc := range []struct {
		mode     string
		terminal bool
		want     bool
	}{
		{kvscheduler.PrintAuto, false, false}, {kvscheduler.PrintAuto, true, true},
		{kvscheduler.PrintAlways, false, true}, {kvscheduler.PrintNever, true, false},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOutputIsLeftToServices$", "-test.count=1")
		cmd.Env = append(os.Environ(), "PRINT_TXN_SUMMARY="+tc.mode)
		out, err := outputOf(t, cmd, tc.terminal)
		if got := strings.Contains(out, "| Transaction #"); err != nil || got != tc.want {
			t.Errorf("print-txn-summary: %s, terminal %v: printed %v, want %v; %v\n%s", tc.mode, tc.terminal, got, tc.want, err, out)
		}
	}
}

// outputOf runs a command with a pipe or a terminal as its standard output.
func outputOf(t *testing.T, cmd *exec.Cmd, terminal bool) (string, error) {
	t.Helper()
	if !terminal {
		out, err := cmd.Output()
		return string(out), err
	}
	pty, tty := openTerminal(t)
	cmd.Stdout = tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(pty) // ends with EIO when the last process has closed the terminal
	if err != nil && !errors.Is(err, unix.EIO) {
		t.Fatal(err)
	}
	return string(out), cmd.Wait()
}

func openTerminal(t *testing.T) (pty, tty *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pty.Close() })
	if err := unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pty, tty
}

// Of many operations the first 1,000 are printed, and how many there are besides.
func TestPrintIsLimited(t *testing.T) {
	t.Parallel()
	out := printed(t, func(*kvscheduler.Config) {}, 1234)
	if n := strings.Count(out, "... and 234 more operations\n"); n != 2 {
		t.Errorf("%d lists of operations end with the number of the others, expected 2", n)
	}
	if n := strings.Count(out, "- key: tap/"); n != 3000 {
		t.Errorf("%d keys are printed, expected 1,000 values, planned and executed operations each", n)
	}
}

// printed returns what a scheduler prints of a transaction.
func printed(t *testing.T, change func(*kvscheduler.Config), values int) string {
	t.Helper()
	conf := kvscheduler.DefaultConfig()
	change(&conf)
	var out bytes.Buffer
	s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&out))
	agenttest.Start(t, s)
	if err := s.RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	items := map[string]*model.Item{}
	for i := range values {
		items[fmt.Sprint("tap/", i)] = &model.Item{}
	}
	if err := commit(t, s, items); err != nil {
		t.Fatal(err)
	}
	s.TransactionBarrier()
	return out.String()
}
