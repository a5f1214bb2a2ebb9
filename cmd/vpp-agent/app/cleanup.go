package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra"
)

// Cleanup takes back what the agent configured when the agent stops in an
// orderly way. It is off unless --cleanup-on-exit is given, because networks
// are expected to outlive the program that set them up.
//
// It also removes the network namespaces that were made for the configuration.
// Which ones these are is kept in a file below /run, as long as the namespaces
// themselves live, so that a later agent with the same label removes those of
// one that was killed.
type Cleanup struct {
	CleanupDeps
	enabled bool
	netns   string // where named namespaces are
	state   string // directory of the file, without the label

	mu   sync.Mutex
	file string // with the namespaces that are ours; empty before Init
}

// CleanupDeps is what Cleanup needs.
type CleanupDeps struct {
	infra.PluginDeps
	Northbound Withdrawer
	Label      Labeller
}

// Withdrawer takes back all that the northbound asked for.
type Withdrawer interface {
	Withdraw(ctx context.Context) error
}

// Labeller tells the label of the agent.
type Labeller interface{ GetAgentLabel() string }

const (
	// withdrawPatience bounds the removal of values; the stop of the agent as a
	// whole is bounded as well.
	withdrawPatience = 3 * time.Second
	// netnsDirectory is where ip-netns(8) keeps named namespaces.
	netnsDirectory = "/run/netns"
	stateDirectory = "/run/vpp-agent"
)

func newCleanup() *Cleanup {
	c := &Cleanup{netns: netnsDirectory, state: stateDirectory}
	c.SetName("cleanup")
	return c
}

// DefineFlags adds --cleanup-on-exit.
func (c *Cleanup) DefineFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&c.enabled, "cleanup-on-exit", c.enabled, "remove what the agent configured when it is stopped")
}

// Init settles where the names of namespaces are kept.
func (c *Cleanup) Init() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file = filepath.Join(c.state, c.Label.GetAgentLabel(), "namespaces")
	return nil
}

// created notes a namespace that was made for the configuration.
func (c *Cleanup) created(name string) {
	if !c.enabled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.note(name); err != nil {
		c.Log.Warn("namespace is not noted for the clean-up", "name", name, "error", err)
	}
}

func (c *Cleanup) note(name string) error {
	inode, err := inodeOf(filepath.Join(c.netns, name))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.file), 0o755)
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %s\n", inode, name)
	return errors.Join(err, f.Close())
}

// Close removes all values that the northbound asked for, and the network
// namespaces that were made for them.
func (c *Cleanup) Close() error {
	if !c.enabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), withdrawPatience)
	defer cancel()
	var errs []error
	if err := c.Northbound.Withdraw(ctx); err != nil {
		errs = append(errs, fmt.Errorf("remove the configuration: %w", err))
	}
	if err := c.removeNamespaces(); err != nil {
		errs = append(errs, fmt.Errorf("remove network namespaces: %w", err))
	}
	return errors.Join(errs...)
}

func (c *Cleanup) removeNamespaces() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(string(text)) {
		inode, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		path := filepath.Join(c.netns, filepath.Base(name))
		if now, err := inodeOf(path); err != nil || strconv.FormatUint(now, 10) != inode {
			continue // gone, or somebody else's by now
		}
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", path, err))
			continue
		}
		errs = append(errs, os.Remove(path))
		c.Log.Info("network namespace removed", "name", name)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err = os.Remove(c.file)
	// The directories go with the last file in them.
	_ = os.Remove(filepath.Dir(c.file))
	_ = os.Remove(c.state)
	return err
}

// inodeOf tells namespaces apart that had the same name one after the other.
func inodeOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no inode", path)
	}
	return stat.Ino, nil
}
